package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/watch"
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
	goal         watch.Goal
}

// newNodeVerbs are the verbs that take nothing but nodes.
func newNodeVerbs(s *session) []*cobra.Command {
	var all []*cobra.Command
	for _, one := range []struct {
		verb
		short, example string
	}{
		{
			verb{"manage", "manage", node.EventManage, "manage", watch.Succeed},
			"Verify nodes and make them manageable",
			"  temper node manage n1 --watch\n  temper node manage --all-in-state enroll --yes --wait 10m",
		},
		{
			verb{"provide", "provide", node.EventProvide, "clean and offer", watch.Succeed},
			"Clean manageable nodes and make them available",
			"  temper node provide n1 n2 --wait 30m",
		},
		{
			verb{"inspect", "inspect", node.EventInspect, "inspect", watch.Succeed},
			"Look what hardware manageable nodes have",
			"  temper node inspect n1 --watch",
		},
		{
			verb{"undeploy", "deleted", node.EventDelete, "undeploy (what is on their disks is lost)", watch.Undeploy},
			"Take nodes out of use and clean them; what is on their disk is lost", "  temper node undeploy n1 --watch",
		},
		{
			verb{"abort", "abort", node.EventAbort, "abort what runs on", watch.Cancel},
			"End what waits on nodes",
			"  temper node abort n1",
		},
		{
			verb{"unhold", "unhold", node.EventUnhold, "unhold", watch.Succeed},
			"Let nodes go on that are held at a step",
			"  temper node unhold n1 --watch",
		},
	} {
		c := &cobra.Command{Use: one.name + " NODE...", Short: one.short, Example: one.example}
		in := client.Work{Verb: one.target}
		if one.event != node.EventAbort && one.event != node.EventUnhold {
			addTerms(c, &in.Terms)
		}
		all = append(all, one.verb.command(s, c, func() (request, error) {
			return func(ctx context.Context, name string) (string, error) { return s.Work(ctx, name, in) }, nil
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
func (v verb) command(s *session, c *cobra.Command, prepare func() (request, error)) *cobra.Command {
	var sel selection
	var o watch.Options
	sel.addFlags(c, s, v.event)
	o.AddFlags(c, v.goal)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		ask, err := prepare()
		if err != nil {
			return err
		}
		names, err := sel.nodes(ctx, s, args, v.what)
		if err != nil {
			return err
		}
		asked := forEach(ctx, names, sel.parallel, v.event, func(ctx context.Context, name string) (*watch.Target, error) {
			id, err := ask(ctx, name)
			return &watch.Target{Name: name, ID: id, Goal: v.goal}, err
		})
		return s.finish(ctx, o, sel.parallel, asked)
	})
	return c
}

// finish follows what was started, as far as that is wanted, shows what came of it, and names what failed.
func (s *session) finish(ctx context.Context, o watch.Options, parallel int, asked []result[*watch.Target]) error {
	all := succeeded(asked)
	switch {
	case len(all) == 0:
		return joinFailures(asked)
	case o.Enabled():
		o.Follow(ctx, s.Client, s.view(o.Watch), all, parallel)
	default:
		watch.PollOnce(ctx, s.Client, all, parallel)
	}
	for i := range asked {
		if t := asked[i].value; asked[i].err == nil {
			asked[i].name, asked[i].err = t.Name, t.Err
		}
	}
	var ops []*client.Operation
	for _, t := range all {
		if t.Op != nil {
			ops = append(ops, t.Op)
		}
	}
	err := s.show(map[string]any{"operations": orEmpty(ops)}, func(w io.Writer) error {
		if o.Watch {
			return nil // it was shown all along
		}
		return targetTable(all, s.now()).Print(w)
	})
	return errors.Join(err, joinFailures(asked))
}

func targetTable(all []*watch.Target, now time.Time) table.Table {
	g := table.New("NODE", "OPERATION", "KIND", "STATE", "TOOK")
	for _, t := range all {
		switch {
		case t.Op != nil:
			g.Add(t.Name, t.Op.ID, t.Op.Kind, watch.State(t.Op), table.Elapsed(t.Op.AcceptedAt, t.Op.EndedAt, now))
		case t.ID != "":
			g.Add(t.Name, t.ID)
		default:
			g.Add(t.Name, "", "", t.NodeState)
		}
	}
	return g
}
