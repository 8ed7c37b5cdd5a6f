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

func main() {
	var o options
	flag.StringVar(&o.temper, "temper", "bin/temper", "the temper binary")
	flag.StringVar(&o.only, "only", "", "parts to run: deploy,handover,aggressive,zombie,inflight,cost,redfish,fleet,silent,power,memory,why,streams,boots,reconcile,ten,against; empty = all")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of deploy and give-back")
	flag.IntVar(&o.kills, "kills", 25, "conductors killed, and as many stopped")
	flag.IntVar(&o.nodes, "nodes", 10_000, "nodes of the part ten")
	flag.DurationVar(&o.within, "within", 2*time.Hour, "after which time the legs of the part ten end, done or not")
	flag.BoolVar(&o.available, "available", false, "enrol the nodes of the part ten as available, instead of verifying and cleaning them")
	flag.StringVar(&o.against, "against", "", "a folder with the programs temper and temporal-dev of another tree: only the comparison with it is run")
	serve := flag.String("serve", "", "only serve the files of a folder, as the standard library does: boots compares with that")
	flag.Parse()
	if *serve != "" {
		if err := serveFiles(*serve); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if o.against != "" {
		o.only = "against"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	parts := []struct {
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
		{"ten", benchTen},
		{"against", benchAgainst},
	}
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
