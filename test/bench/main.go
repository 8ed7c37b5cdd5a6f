// Command bench measures Temper on this machine and prints the figures beside
// those of Ironic 21.4. It asserts nothing: machines are shared and noisy, so
// figures are compared within one run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	temper string // the binary under test
	only   string // parts to run, comma-separated; "" = all
	rounds int
	kills  int
	nodes  int           // of the part ten
	within time.Duration // its legs end then at the latest
	// available has its nodes made available by their enrolment, which leaves out two of its legs.
	available bool
	// against is a folder with the programs temper and temporal-dev of another tree; "" = none.
	against string
}

// parts are what the bench measures, one after another.
var parts = []struct {
	name string
	run  func(context.Context, options) error
}{
	{"deploy", benchDeploys},
	{"handover", benchHandOver},
	{"aggressive", benchAggressive},
	{"zombie", benchZombie},
	{"inflight", benchInFlight},
	{"cost", benchCost},
	{"redfish", benchRedfish},
	{"fleet", benchFleet},
	{"silent", benchSilent},
	{"power", benchPower},
	{"memory", benchMemory},
	{"why", benchWhy},
	{"streams", benchStreams},
	{"boots", benchBoots},
	{"reconcile", benchReconcile},
	{"lists", benchLists},
	{"floor", benchFloor},
	{"ten", benchTen},
	{"against", benchAgainst},
}

func main() {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	var o options
	flag.StringVar(&o.temper, "temper", "bin/temper", "the temper binary")
	flag.StringVar(&o.only, "only", "", "parts to run: "+strings.Join(names, ",")+"; empty = all")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of deploy and give-back")
	flag.IntVar(&o.kills, "kills", 25, "conductors killed, and as many stopped")
	flag.IntVar(&o.nodes, "nodes", 10_000, "nodes of the part ten")
	flag.DurationVar(&o.within, "within", 2*time.Hour, "after which time the legs of the part ten end, done or not")
	flag.BoolVar(&o.available, "available", false, "enrol the nodes of the part ten as available, instead of verifying and cleaning them")
	flag.StringVar(&o.against, "against", "", "a folder with the programs temper and temporal-dev of another tree: only the comparison with it is run")
	serve := flag.String("serve", "", "only serve the files of a folder, as the standard library does: boots compares with that")
	rows := flag.String("plain", "", "only serve rows of the database at this address, as a plain program does: lists compares with that")
	floorRole := flag.String("floor", "", "only be a process of the floor, which floor compares deploys with: orchestrator, conductor or api")
	temporal := flag.String("temporal", "", "Temporal's address, for -floor")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := func() error { return run(ctx, o) }
	switch {
	case *floorRole != "":
		do = func() error { return serveFloor(ctx, *floorRole, *temporal) }
	case *serve != "":
		do = func() error { return serveFiles(*serve) }
	case *rows != "":
		do = func() error { return servePlain(ctx, *rows) }
	case o.against != "":
		o.only = "against"
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	for _, p := range parts {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+p.name+",") {
			continue
		}
		began := time.Now()
		if err := p.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Printf("(%s took %s)\n\n", p.name, time.Since(began).Round(time.Second))
	}
	return nil
}
