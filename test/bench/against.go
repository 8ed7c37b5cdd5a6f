package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"go.temper.dev/temper/test/stack"
)

// againstCount is how many nodes are deployed, and then given back, at once.
const againstCount = 100

// tree is a running stack, and what each of its rounds has cost.
type tree struct {
	name string
	*stack.Stack
	perMinute []float64            // operations
	cpu       map[string][]float64 // ms for an operation, by role
}

// benchAgainst compares this tree with the programs temper and temporal-dev in another folder. Both run from the beginning to the end, and
// take turns, so that a machine that becomes slower is as slow for both.
func benchAgainst(ctx context.Context, o options) error {
	if o.against == "" {
		fmt.Println("# Against another tree: -against is not given")
		return nil
	}
	fmt.Printf("# This tree and %s in turns: %d deploys at once, and as many give-backs, medians of %d rounds\n", o.against, againstCount, o.rounds)
	trees := []*tree{{name: o.against}, {name: "this tree"}}
	for i, temper := range []string{filepath.Join(o.against, "temper"), o.temper} {
		s, err := stack.Start(ctx, temper, "", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
		if err != nil {
			return err
		}
		defer func() { _ = s.Stop() }()
		trees[i].Stack, trees[i].cpu = s, map[string][]float64{}
		if err := errors.Join(s.Prepare(ctx, againstCount), setImage(s, ctx)); err != nil {
			return err
		}
	}
	turns := slices.Clone(trees)
	for round := range o.rounds + 1 {
		for _, t := range turns {
			if err := t.round(ctx, round > 0); err != nil { // the first round warms up
				return err
			}
		}
		slices.Reverse(turns)
	}
	that, this := trees[0], trees[1]
	fmt.Printf("  %-14s %10s %10s %8s\n", "", "that", "this", "ratio")
	line := func(what string, a, b []float64) {
		x, y := middle(a), middle(b)
		fmt.Printf("  %-14s %10.1f %10.1f %8.2f\n", what, x, y, y/x)
	}
	line("a minute", that.perMinute, this.perMinute)
	for _, role := range slices.Sorted(maps.Keys(this.cpu)) {
		line("ms "+role, that.cpu[role], this.cpu[role])
	}
	return nil
}

// round deploys and gives back once.
func (t *tree) round(ctx context.Context, counts bool) error {
	if err := setImage(t.Stack, ctx); err != nil {
		return err
	}
	before, began := usage(t.Stack), time.Now()
	for _, leg := range []struct{ from, verb, to string }{{"available", "active", "active"}, {"active", "deleted", "available"}} {
		if _, err := t.Move(ctx, againstCount, leg.from, leg.verb, leg.to); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	took, after := time.Since(began), usage(t.Stack)
	if !counts {
		return nil
	}
	const operations = 2 * againstCount
	t.perMinute = append(t.perMinute, operations/took.Minutes())
	for role := range after {
		t.cpu[role] = append(t.cpu[role], float64((after[role]-before[role]).Microseconds())/1000/operations)
	}
	return nil
}

func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(v))[len(v)/2]
}
