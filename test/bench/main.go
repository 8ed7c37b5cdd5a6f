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
	// against is a folder with the programs temper and temporal-dev of another tree; "" = none.
	against string
}

func main() {
	var o options
	flag.StringVar(&o.temper, "temper", "bin/temper", "the temper binary")
	flag.StringVar(&o.only, "only", "", "parts to run: deploy,handover,aggressive,zombie,inflight,cost,redfish,fleet,silent,power,memory,why,streams,boots,reconcile,lists,floor,against; empty = all")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of deploy and give-back")
	flag.IntVar(&o.kills, "kills", 25, "conductors killed, and as many stopped")
	flag.StringVar(&o.against, "against", "", "a folder with the programs temper and temporal-dev of another tree: only the comparison with it is run")
	serve := flag.String("serve", "", "only serve the files of a folder, as the standard library does: boots compares with that")
	rows := flag.String("plain", "", "only serve rows of the database at this address, as a plain program does: lists compares with that")
	floorRole := flag.String("floor", "", "only be a process of the floor, which floor compares deploys with: orchestrator, conductor or api")
	temporal := flag.String("temporal", "", "Temporal's address, for -floor")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *floorRole != "" {
		if err := serveFloor(ctx, *floorRole, *temporal); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *serve != "" {
		if err := serveFiles(*serve); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *rows != "" {
		if err := servePlain(context.Background(), *rows); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if o.against != "" {
		o.only = "against"
	}
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
		{"lists", benchLists},
		{"floor", benchFloor},
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
