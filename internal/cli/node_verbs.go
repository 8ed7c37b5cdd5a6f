package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// verb is a command that requests work on nodes.
type verb struct {
	name, target string     // name of the command; Ironic's word for it
	event        node.Event // in the life cycle; "" = none
	what         string     // what the question before --all-in-state calls it
	goal         watch.Goal
}

// newNodeVerbs returns the verbs without arguments besides nodes.
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
			"Find out what hardware manageable nodes have",
			"  temper node inspect n1 --watch",
		},
		{
			verb{"undeploy", "deleted", node.EventDelete, "undeploy (what is on their disks is lost)", watch.Undeploy},
			"Take nodes out of use and clean them; the data on their disks is lost", "  temper node undeploy n1 --watch",
		},
		{
			verb{"unrescue", "unrescue", node.EventUnrescue, "end the rescue of", watch.Succeed},
			"Boot nodes from their disks again after a rescue",
			"  temper node unrescue n1 --watch",
		},
		{
			verb{"adopt", "adopt", node.EventAdopt, "adopt", watch.Succeed},
			"Take over servers that run already; nothing on them is changed",
			"  temper node adopt n1 --watch",
		},
		{
			verb{"abort", "abort", node.EventAbort, "abort the operations on", watch.Cancel},
			"Abort the operations that wait on nodes",
			"  temper node abort n1",
		},
		{
			verb{"unhold", "unhold", node.EventUnhold, "unhold", watch.Succeed},
			"Let operations go on that wait at a hold step",
			"  temper node unhold n1 --watch",
		},
	} {
		c := &cobra.Command{Use: one.name + " NODE...", Short: one.short, Example: one.example}
		in := client.Work{Verb: one.target}
		if one.event != node.EventAbort && one.event != node.EventUnhold {
			addTerms(c, &in.Terms)
		}
		all = append(all, one.verb.command(s, c, func() (client.Work, error) { return in, nil }))
	}
	return all
}

// addTerms adds the flags that say what to do when a step fails, and when no conductor covers the node.
func addTerms(c *cobra.Command, to *client.Terms) {
	addPatience(c, to)
	c.Flags().StringVar(&to.OnFailure, "on-failure", "", "what to do when a step has failed for good: `fail|hold`; hold waits for temper operation retry, skip or abort (default: the API's setting)")
	completeWords(c, "on-failure", string(node.FailOnFailure), string(node.HoldOnFailure))
}

func addPatience(c *cobra.Command, to *client.Terms) {
	c.Flags().BoolVar(&to.WaitForConductor, "wait-for-conductor", false, "if no live conductor covers a node, wait for one instead of refusing the request")
}

// command makes c send the request that prepare returns to each selected node, and follow the operations if the user wants that.
func (v verb) command(s *session, c *cobra.Command, prepare func() (client.Work, error)) *cobra.Command {
	var sel selection
	var o watch.Options
	var key string
	var dryRun bool
	sel.addFlags(c, s, v.event)
	o.AddFlags(c, v.goal)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show whether the request would be accepted and which steps it would begin with; changes nothing")
	c.Flags().StringVar(&key, "idempotency-key", "", "`key` of the request: the same request to a node with the same key gets the same operation for 24 hours (default: a new key)")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		switch {
		case c.Flags().Changed("idempotency-key") && key == "":
			return exit.Usage(errors.New("--idempotency-key is empty"))
		case dryRun && o.Enabled():
			return exit.Usage(errors.New("--dry-run starts nothing that --watch or --wait could follow"))
		}
		work, err := prepare()
		if err != nil {
			return err
		}
		work.Key = key
		sel.yes = sel.yes || dryRun // nothing is done to them
		names, err := sel.nodes(ctx, s, args, v.what)
		if err != nil {
			return err
		}
		if dryRun {
			return s.dryRun(ctx, v, names, sel.parallel, work)
		}
		asked := forEach(ctx, names, sel.parallel, v.event, func(ctx context.Context, name string) (*watch.Target, error) {
			id, err := s.Work(ctx, name, work)
			return &watch.Target{Name: name, ID: id, Goal: v.goal}, whetherAccepted(err, name)
		})
		return s.finish(ctx, o, sel.parallel, asked)
	})
	return c
}

// whetherAccepted adds to the error of a request for work on a node, if the database was away, whether the request was accepted.
func whetherAccepted(err error, name string) error {
	switch {
	case client.InDoubt(err):
		return &advisedError{err, "temper operation list --node " + name + " shows whether it was accepted"}
	case client.CodeOf(err) == fault.DatabaseUnavailable: // the API says RequestInDoubt if it had begun to write
		return &advisedError{err, "the request was not accepted"}
	}
	return err
}

// finish follows what was started, if the user wants that, shows the operations, and returns what failed.
func (s *session) finish(ctx context.Context, o watch.Options, parallel int, asked []result[*watch.Target]) error {
	all := succeeded(asked)
	switch {
	case len(all) == 0:
		err := s.show(map[string]any{"operations": []any{}}, func(io.Writer) error { return nil })
		return errors.Join(err, joinFailures(asked))
	case o.Enabled():
		s.watcher(o).Follow(ctx, all, parallel)
	default:
		watch.PollOnce(ctx, s.Client, all, parallel)
	}
	return s.conclude(asked, o.Watch)
}

// conclude shows the operations, unless a view has shown them already, and returns what failed.
func (s *session) conclude(asked []result[*watch.Target], shown bool) error {
	all := succeeded(asked)
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
		if shown {
			return nil
		}
		return targetTable(all, s.now()).Print(w)
	})
	return errors.Join(err, joinFailures(asked))
}

func targetTable(all []*watch.Target, now time.Time) table.Table {
	g := table.New("NODE", "OPERATION", "KIND", "STATE", "TOOK").Wrap("STATE")
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
