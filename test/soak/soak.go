package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/test/soak/oracle"
	"go.temper.dev/temper/test/stack"
)

// settings are the defaults, with fast hardware and short waits for people.
const settings = `
reconcile_interval: 3s
power_timeout: 20s
virtual_media_timeout: 5s
soft_power_off_timeout: 20s
deploy_callback_timeout: 60s
clean_callback_timeout: 60s
inspect_callback_timeout: 60s
rack_power_delay: 50ms
rack_boot_delay: 200ms
rack_step_delay: 100ms
`

// settle is how long the open operations may take to end when nothing disturbs them any more.
const settle = 6 * time.Minute

// quiet is how long no operation must be open.
const quiet = 20 * time.Second

type options struct {
	temper string
	lasts  time.Duration
	nodes  int
	seed   uint64
	say    func(format string, args ...any)
}

// world is the stack that is tested.
type world struct {
	*stack.Stack
	o      options
	digest string
}

// soak runs the test and judges. The data and logs stay if something is wrong.
func soak(ctx context.Context, o options) (err error) {
	o.say("seed %d (--seed %d does the same again, as far as time allows), for %s", o.seed, o.seed, o.lasts)
	s, err := stack.Config{Temper: o.temper, Settings: settings, Args: []string{
		"--nodes", strconv.Itoa(o.nodes), "--conductors", "3", "--enroll=false", "--drivers", "redfish", "--restart", "--seed", "1",
	}}.Start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = s.Stop()
			return
		}
		o.say("data and logs are in %s", s.Dir)
		err = errors.Join(err, s.End())
	}()
	w := &world{Stack: s, o: o}
	if w.digest, err = s.Digest(ctx); err != nil {
		return err
	}
	nodes, err := w.enroll(ctx)
	if err != nil {
		return err
	}
	w.disturb(ctx, nodes)
	if err := w.calm(ctx, nodes); err != nil {
		return err
	}
	return w.judge(ctx, nodes)
}

// disturb sends requests and injects faults until the time is over.
func (w *world) disturb(ctx context.Context, nodes []*node) {
	ctx, cancel := context.WithTimeout(ctx, w.o.lasts)
	defer cancel()
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { w.ask(ctx, n, rand.New(rand.NewPCG(w.o.seed, uint64(i)))) })
	}
	all.Go(func() { w.havoc(ctx, rand.New(rand.NewPCG(w.o.seed, 1<<32))) })
	all.Wait()
}

// calm stops the faults and waits until every operation has ended and no node owes an undo.
func (w *world) calm(ctx context.Context, nodes []*node) error {
	w.o.say("it is quiet now; what is open is waited for")
	for _, n := range nodes {
		if err := w.Spoil(ctx, n.server, nil); err != nil {
			return err
		}
	}
	seen := time.Now() // when something was open; reconciliation opens undo operations a moment later
	return stack.Await(ctx, settle, func() error {
		open, err := w.Open(ctx)
		if err != nil || len(open) > 0 {
			seen = time.Now()
		}
		if err == nil && time.Since(seen) < quiet {
			err = fmt.Errorf("%d operations are open: %v", len(open), slices.Collect(maps.Values(open)))
		}
		return err
	})
}

// judge lets the oracle judge every node.
func (w *world) judge(ctx context.Context, nodes []*node) error {
	var wrong []error
	count := map[string]int{}
	for _, n := range nodes {
		ops, err := w.history(ctx, n)
		if err != nil {
			return err
		}
		end, actions, err := w.found(ctx, n)
		if err != nil {
			return err
		}
		for _, o := range ops {
			count[o.Kind+" "+o.Outcome]++
			count["operations"]++
		}
		if words := oracle.Judge(n.requests, ops, actions, end); len(words) > 0 {
			wrong = append(wrong, fmt.Errorf("node %s (%s): %s\n  operations %+v\n  power %+v\n  end %+v", n.uuid, n.server, strings.Join(words, "; "), ops, actions, end))
		}
		for id := range n.accepted {
			if !known(ops, id) {
				wrong = append(wrong, fmt.Errorf("node %s: operation %s was accepted, and is unknown", n.uuid, id))
			}
		}
	}
	w.o.say("%d operations of %d nodes: %v", count["operations"], len(nodes), count)
	return errors.Join(wrong...)
}

func known(ops []oracle.Operation, id string) bool {
	for _, o := range ops {
		if o.ID == id {
			return true
		}
	}
	return false
}
