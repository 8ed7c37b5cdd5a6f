package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// request asks something of a node, and gives the operation that does it; "" where it is done.
type request func(ctx context.Context, name string) (operation string, err error)

// verb is a command that asks for work on nodes.
type verb struct {
	name, target string     // the command's, Ironic's
	event        node.Event // "" = none of the life cycle
	what         string     // for the question before many
	goal         goal
}

// newNodeVerbs are the verbs that take nothing but nodes.
func newNodeVerbs(a *asker) []*cobra.Command {
	var all []*cobra.Command
	for _, one := range []struct {
		verb
		short, example string
	}{
		{
			verb{"manage", "manage", node.EventManage, "manage", toSucceed},
			"Verify nodes and make them manageable",
			"  temper node manage n1 --watch\n  temper node manage --all-in-state enroll --yes --wait 10m",
		},
		{
			verb{"provide", "provide", node.EventProvide, "clean and offer", toSucceed},
			"Clean manageable nodes and make them available",
			"  temper node provide n1 n2 --wait 30m",
		},
		{
			verb{"inspect", "inspect", node.EventInspect, "inspect", toSucceed},
			"Look what hardware manageable nodes have",
			"  temper node inspect n1 --watch",
		},
		{
			verb{"undeploy", "deleted", node.EventDelete, "undeploy (what is on their disks is lost)", toGiveBack},
			"Take nodes out of use and clean them; what is on their disk is lost", "  temper node undeploy n1 --watch",
		},
		{
			verb{"abort", "abort", node.EventAbort, "abort what runs on", toStop},
			"End what waits on nodes",
			"  temper node abort n1",
		},
		{
			verb{"unhold", "unhold", node.EventUnhold, "unhold", toSucceed},
			"Let nodes go on that are held at a step",
			"  temper node unhold n1 --watch",
		},
	} {
		c := &cobra.Command{Use: one.name + " NODE...", Short: one.short, Example: one.example}
		in := client.Work{Verb: one.target}
		if one.event != node.EventAbort && one.event != node.EventUnhold {
			addTerms(c, &in.Terms)
		}
		all = append(all, one.verb.command(a, c, func() (request, error) {
			return func(ctx context.Context, name string) (string, error) { return a.Work(ctx, name, in) }, nil
		}))
	}
	return all
}

// addTerms adds the flags of what becomes of a step that fails, and of what nobody can do now.
func addTerms(c *cobra.Command, to *client.Terms) {
	addPatience(c, to)
	c.Flags().StringVar(&to.OnFailure, "on-failure", "", "when a step has failed for good: `fail|hold`; hold waits for temper operation retry, skip or abort (default: the API's setting)")
	completeWords(c, "on-failure", string(node.FailOnFailure), string(node.HoldOnFailure))
}

func addPatience(c *cobra.Command, to *client.Terms) {
	c.Flags().BoolVar(&to.WaitForConductor, "wait-for-conductor", false, "where no live conductor covers a node, have the API wait for one instead of refusing")
}

// command makes c ask with what prepare gives, once for every chosen node, and follow what was started where that is wanted.
func (v verb) command(a *asker, c *cobra.Command, prepare func() (request, error)) *cobra.Command {
	var s chosen
	var f following
	s.addFlags(c, a, v.event)
	f.addFlags(c, v.goal)
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		ask, err := prepare()
		if err != nil {
			return err
		}
		names, err := s.nodes(ctx, a, args, v.what)
		if err != nil {
			return err
		}
		asked := each(ctx, names, s.parallel, v.event, func(ctx context.Context, name string) (*pursuit, error) {
			id, err := ask(ctx, name)
			return &pursuit{name: name, id: id, goal: v.goal}, err
		})
		return a.conclude(ctx, f, s.parallel, asked)
	})
	return c
}

// conclude follows what was started, as far as that is wanted, shows what came of it, and names what failed.
func (a *asker) conclude(ctx context.Context, f following, parallel int, asked []done[*pursuit]) error {
	all := values(asked)
	switch {
	case len(all) == 0:
		return failed(asked)
	case f.wanted():
		a.follow(ctx, f, all, parallel)
	default:
		a.lookOnce(ctx, all, parallel)
	}
	for i := range asked {
		if p := asked[i].value; asked[i].err == nil {
			asked[i].name, asked[i].err = p.name, p.err
		}
	}
	var ops []*client.Operation
	for _, p := range all {
		if p.op != nil {
			ops = append(ops, p.op)
		}
	}
	err := a.show(map[string]any{"operations": orEmpty(ops)}, func(w io.Writer) error {
		if f.watch {
			return nil // it was shown all along
		}
		return pursuitTable(all, a.now()).writeTo(w)
	})
	return errors.Join(err, failed(asked))
}

func pursuitTable(all []*pursuit, now time.Time) grid {
	g := newGrid("NODE", "OPERATION", "KIND", "STATE", "TOOK")
	for _, p := range all {
		switch {
		case p.op != nil:
			g.add(p.name, p.op.ID, p.op.Kind, stateOf(p.op), between(p.op.AcceptedAt, p.op.EndedAt, now))
		case p.id != "":
			g.add(p.name, p.id)
		default:
			g.add(p.name, "", "", p.state)
		}
	}
	return g
}

// stateOf is how far an operation is, what was asked of it since, and how it ended.
func stateOf(o *client.Operation) string {
	if o.Ended() {
		return o.Outcome
	}
	state := o.State
	switch {
	case o.WaitingFor == "":
	case o.Pause != nil:
		state = o.WaitingFor + ": temper operation unpause " + o.ID
	case o.WaitingFor == node.PausedWords:
		state = node.PausedWords
	case o.State == "holding" && len(o.Choices) > 0:
		state = fmt.Sprintf("holding for a decision: temper operation %s %s", strings.Join(o.Choices, "|"), o.ID)
	default: // whatever its phase, it does not go on before that
		state = "waiting for " + o.WaitingFor
	}
	// The workflow hears of it a moment later than the row says it.
	switch o.Asked {
	case client.AskCancel, client.AskDelete:
		return "cancelling"
	case client.AskAbort:
		return "cancelling after this step"
	case client.AskUnhold:
		return "going on"
	case client.AskPower:
		return state + ", power change asked" + words(": ", o.AskedReason)
	}
	return state
}
