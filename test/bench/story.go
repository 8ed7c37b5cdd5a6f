package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/test/stack"
)

// storyTriggers are the triggers that write the timeline of operations and the events.
var storyTriggers = []struct{ table, trigger string }{
	{"operations", "operation_told"}, {"operations", "tell_accepted"}, {"operations", "tell_changed"}, {"nodes", "tell_changed"},
}

// storyCount is how many nodes are deployed at once.
const storyCount = 300

// deployCost is what one deploy has cost.
type deployCost struct {
	perMinute, cpu, postgres, transactions, bytes float64 // cpu and postgres in ms
}

// benchStory measures what telling the story of a deploy costs: the same deploys alternately without and with the triggers that
// write the timeline and the events. Nobody follows the events meanwhile.
func benchStory(ctx context.Context, o options) error {
	fmt.Printf("# What the story of a deploy costs: %d at once, alternately without and with the timeline and the events, medians of %d rounds\n", storyCount, o.rounds)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	if err := s.Prepare(ctx, storyCount); err != nil {
		return err
	}
	costs := map[bool][]deployCost{}
	for round := range o.rounds + 1 {
		for _, told := range []bool{round%2 == 0, round%2 != 0} {
			if err := tell(ctx, db, told); err != nil {
				return err
			}
			cost, err := costOfDeploys(ctx, s, db)
			if err != nil {
				return err
			}
			if round > 0 { // the first round warms up
				costs[told] = append(costs[told], cost)
			}
		}
	}
	without, with := medianCost(costs[false]), medianCost(costs[true])
	for _, line := range []struct {
		what string
		of   func(deployCost) float64
	}{
		{"deploys/min", func(c deployCost) float64 { return c.perMinute }},
		{"ms of CPU", func(c deployCost) float64 { return c.cpu }},
		{"ms of CPU in PostgreSQL", func(c deployCost) float64 { return c.postgres }},
		{"transactions", func(c deployCost) float64 { return c.transactions }},
		{"bytes of WAL", func(c deployCost) float64 { return c.bytes }},
	} {
		a, b := line.of(without), line.of(with)
		fmt.Printf("  %-24s %9.1f without, %9.1f with: %+.1f %%\n", line.what, a, b, 100*(b-a)/a)
	}
	return nil
}

// tell enables or disables the triggers.
func tell(ctx context.Context, db *pgx.Conn, told bool) error {
	state := map[bool]string{true: "ENABLE", false: "DISABLE"}[told]
	for _, t := range storyTriggers {
		if _, err := db.Exec(ctx, fmt.Sprintf("ALTER TABLE %s %s TRIGGER %s", t.table, state, t.trigger)); err != nil {
			return err
		}
	}
	return nil
}

// costOfDeploys deploys all nodes, and gives them back unmeasured.
func costOfDeploys(ctx context.Context, s *stack.Stack, db *pgx.Conn) (c deployCost, err error) {
	if err := setImage(s, ctx); err != nil {
		return c, err
	}
	before, err := spentBy(ctx, db)
	if err != nil {
		return c, err
	}
	cpu := usage(s)
	took, err := s.Move(ctx, storyCount, "available", "active", "active")
	if err != nil {
		return c, err
	}
	for role, t := range usage(s) {
		ms := float64((t - cpu[role]).Microseconds()) / 1000 / storyCount
		c.cpu += ms
		if role == "postgres" {
			c.postgres = ms
		}
	}
	after, err := spentBy(ctx, db)
	if err != nil {
		return c, err
	}
	used := after.since(before, spent{})
	c.perMinute = storyCount / took.Minutes()
	c.transactions, c.bytes = used.transactions/storyCount, used.bytes/storyCount
	_, err = s.Move(ctx, storyCount, "active", "deleted", "available")
	return c, err
}

// medianCost has the median of each figure.
func medianCost(all []deployCost) deployCost {
	mid := func(of func(deployCost) float64) float64 {
		var figures []float64
		for _, c := range all {
			figures = append(figures, of(c))
		}
		slices.Sort(figures)
		return figures[len(figures)/2]
	}
	return deployCost{
		perMinute:    mid(func(c deployCost) float64 { return c.perMinute }),
		cpu:          mid(func(c deployCost) float64 { return c.cpu }),
		postgres:     mid(func(c deployCost) float64 { return c.postgres }),
		transactions: mid(func(c deployCost) float64 { return c.transactions }),
		bytes:        mid(func(c deployCost) float64 { return c.bytes }),
	}
}
