package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// following is whether a command stays with what it started.
type following struct {
	watch bool
	wait  time.Duration
	every time.Duration // between two looks
}

// addFlags adds the flags with which a command stays until its goal.
func (f *following) addFlags(c *cobra.Command, g goal) {
	f.addEvery(c)
	c.Long = cmp.Or(c.Long, c.Short) + "\n\n" + exitCodes
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "show the steps until it is over; exit code 0 only if "+g.reached())
	c.Flags().DurationVar(&f.wait, "wait", 0, "wait until it is over, for this `DURATION` at most; exit code 0 only if "+g.reached())
}

// addEvery adds a flag that hardly anybody needs, and help does not show.
func (f *following) addEvery(c *cobra.Command) {
	c.Flags().DurationVar(&f.every, "every", 500*time.Millisecond, "how often to look")
	must(c.Flags().MarkHidden("every"))
}

func (f following) wanted() bool { return f.watch || f.wait > 0 }

// goal is what an operation is to come to for a command to have succeeded.
type goal int

const (
	toSucceed  goal = iota
	toStop          // it was asked to stop: ending so is success
	toGiveBack      // a deleted node: an operation that had to stop first is followed by the one that gives it back
	toPower         // a change of power, perhaps as a step of an operation that goes on
)

// reached says when a command with this goal has succeeded, for its help.
func (g goal) reached() string {
	switch g {
	case toStop:
		return "the operation has ended cancelled"
	case toGiveBack:
		return "the node was given back"
	case toPower:
		return "the power was changed"
	}
	return "it succeeded"
}

// pursuit is an operation that is followed.
type pursuit struct {
	name string // of the node, as it was called
	id   string // of the operation; "" = none was needed
	goal goal

	op    *client.Operation // as it was last seen; nil = not yet
	state string            // of the node, where no operation was needed
	over  bool
	err   error // why it did not come to its goal
}

// look asks once how far it is.
func (p *pursuit) look(ctx context.Context, c *client.Client) {
	if p.id == "" {
		p.lookAtNode(ctx, c)
		return
	}
	op, err := c.Operation(ctx, p.id)
	if ctx.Err() != nil {
		return // whoever ended this says so
	}
	if err != nil {
		p.over, p.err = true, &exitError{exitUnknown, fmt.Errorf("lost sight of operation %s: %w", p.id, err)}
		return
	}
	p.op = op
	switch {
	case p.goal == toPower && op.Kind != "power":
		p.over = op.Ended() || powered(op)
		if p.over && op.Ended() {
			p.err = verdict(op, toSucceed)
		}
	case !op.Ended() && p.goal != toStop && held(op):
		p.over, p.err = true, heldError(op)
	case !op.Ended():
	case p.goal == toGiveBack && op.Kind != "undeploy":
		p.next(ctx, c)
	default:
		p.over, p.err = true, verdict(op, p.goal)
	}
}

// held reports whether an operation waits for a person: to decide about a step that failed, or to unhold the node. One
// that was just decided about may still be called holding.
func held(op *client.Operation) bool {
	s := op.Current()
	return op.State == "holding" && op.Asked == "" && (len(op.Choices) > 0 || s != nil && s.Step == node.StepHold)
}

// heldError says that an operation waits for a person, for what, and how to go on.
func heldError(op *client.Operation) error {
	at, next := "", "temper node unhold "+op.Label()+" lets it go on"
	s := op.Current()
	if s != nil {
		at = " at " + s.Name()
	}
	if len(op.Choices) > 0 {
		next = fmt.Sprintf("decide with temper operation %s %s", strings.Join(op.Choices, "|"), op.ID)
		if s != nil {
			at += words(", which failed: ", trimmed(s.LastError))
		}
	}
	return &exitError{exitHeld, fmt.Errorf("operation %s (%s) holds%s; %s", op.ID, op.Kind, at, next)}
}

// lookAtNode: a request that moved the node at once has no operation, only a state.
func (p *pursuit) lookAtNode(ctx context.Context, c *client.Client) {
	n, err := c.Node(ctx, p.name, "provision_state")
	if ctx.Err() != nil {
		return
	}
	p.over, p.err = true, err
	if err == nil {
		p.state = n.ProvisionState
	}
}

// next goes on with the operation that gives the node back. It is opened with the end of the one before.
func (p *pursuit) next(ctx context.Context, c *client.Client) {
	list, err := c.Operations(ctx, client.OperationFilter{Node: p.op.NodeUUID, Kind: "undeploy"}, 1)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.over, p.err = true, fmt.Errorf("look what follows operation %s: %w", p.id, err)
	case len(list.Items) == 0 || !client.Newer(list.Items[0].ID, p.id):
		p.over, p.err = true, fmt.Errorf("operation %s ended as %s, and nothing gives the node back", p.id, p.op.Outcome)
	default:
		p.id, p.op = list.Items[0].ID, &list.Items[0]
	}
}

// powered reports whether an operation that goes on has carried out a power request: its ask is taken up, and the steps for
// it, which stand before the one that waited, are over.
func powered(op *client.Operation) bool {
	at := op.Current()
	return op.Asked != client.AskPower && (at == nil || at.Interface != "power")
}

// verdict is nil where an operation came to its goal, else a sentence.
func verdict(op *client.Operation, g goal) error {
	what := fmt.Sprintf("operation %s (%s)", op.ID, op.Kind)
	switch {
	case g == toStop && op.Outcome == client.Cancelled, g != toStop && op.Outcome == client.Succeeded:
		return nil
	case op.Outcome == client.Succeeded:
		return fmt.Errorf("%s had succeeded before it could be stopped", what)
	case op.Outcome == client.Cancelled:
		return fmt.Errorf("%s was stopped%s%s", what, words(" by ", op.AskedBy), words(": ", op.AskedReason))
	}
	at := ""
	if s := op.Current(); s != nil {
		at = " at " + s.Name()
	}
	return fmt.Errorf("%s failed%s: %s; temper operation show %s has its steps", what, at, trimmed(op.Error), op.ID)
}

// words are s with what stands before it; "" for nothing.
func words(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// lookOnce reads what was started once.
func (a *asker) lookOnce(ctx context.Context, all []*pursuit, parallel int) {
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, p := range all {
		g.Go(func() error {
			p.look(ctx, a.Client)
			if p.id != "" {
				p.err = nil // it was accepted; how it goes on is not waited for
			}
			return nil
		})
	}
	_ = g.Wait() // never fails
}

// follow stays with all of them until they are over, the time is up, or somebody interrupts.
func (a *asker) follow(ctx context.Context, f following, all []*pursuit, parallel int) {
	if f.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.wait)
		defer cancel()
	}
	v := a.view(f.watch)
	for {
		open := 0
		var g errgroup.Group
		g.SetLimit(parallel)
		for _, p := range all {
			if !p.over {
				open++
				g.Go(func() error {
					p.look(ctx, a.Client)
					return nil
				})
			}
		}
		_ = g.Wait() // never fails
		v.update(all)
		if open == 0 || !f.rest(ctx, open) {
			break
		}
	}
	for _, p := range all {
		if !p.over {
			p.err = unfinished(ctx, p, f.wait)
		}
	}
}

// perOperation is the pause between two looks that each followed operation costs: many are looked at less often.
const perOperation = 10 * time.Millisecond

// rest waits until it is time to look again; false = nobody waits any more.
func (f following) rest(ctx context.Context, open int) bool {
	t := time.NewTimer(max(f.every, time.Duration(open)*perOperation))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unfinished says why an operation was left alone.
func unfinished(ctx context.Context, p *pursuit, wait time.Duration) error {
	what, at := "what was asked", ""
	if p.id != "" {
		what = "operation " + p.id
	}
	if p.op != nil {
		what = fmt.Sprintf("operation %s (%s)", p.id, p.op.Kind)
		at = ", it is " + stateOf(p.op)
		if s := p.op.Current(); s != nil {
			at += " at " + s.Name() + words(" after ", trimmed(s.LastError))
		}
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err := fmt.Errorf("%s has not ended within %s%s; temper operation watch %s stays with it", what, wait, at, p.id)
		return &exitError{exitUnknown, err}
	}
	return &exitError{exitInterrupted, fmt.Errorf("%s goes on%s; temper operation cancel %s ends it", what, at, p.id)}
}
