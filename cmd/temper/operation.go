package main

import (
	"cmp"
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

func newOperationCommand() *cobra.Command {
	return group("operation", "Look at what is done to nodes, and stop it", "  temper operation list\n  temper operation watch 12",
		func(a *asker) []*cobra.Command {
			all := []*cobra.Command{newOperationList(a), newOperationShow(a), newOperationCancel(a), newOperationWatch(a), newOperationRecover(a)}
			return append(append(all, newDecisions(a)...), newOperationUnpause(a))
		})
}

func newOperationList(a *asker) *cobra.Command {
	var f client.OperationFilter
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List operations, the newest first", Args: cobra.NoArgs,
		Example: "  temper operation list --node n1\n  temper operation list --state failed",
	}
	c.Flags().StringVar(&f.Node, "node", "", "only those of this `node`")
	c.Flags().BoolVar(&f.Deleted, "deleted", false, "only operations of deleted nodes")
	c.Flags().StringVar(&f.Kind, "kind", "", "only those of this `kind`")
	c.Flags().StringVar(&f.State, "state", "", "only those in this `state`, or that ended as succeeded, failed or cancelled")
	c.Flags().IntVar(&limit, "limit", 50, "show at most so many")
	must(c.RegisterFlagCompletionFunc("node", a.completeNodes("", 0)))
	var kinds []string
	for _, k := range node.Kinds() {
		kinds = append(kinds, string(k))
	}
	completeWords(c, "kind", kinds...)
	completeWords(c, "state", "accepted", "running", "waiting", "paused", "holding", "undoing", "cancelling", "ended", "succeeded", "failed", "cancelled")
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if err := goodLimit(limit); err != nil {
			return err
		}
		list, err := a.Operations(ctx, f, limit)
		if err != nil {
			return advised(err)
		}
		a.noteMore(list.More, limit, "operations")
		return a.show(map[string]any{"operations": orEmpty(list.Items)}, func(w io.Writer) error {
			return operationTable(list.Items, a.now()).writeTo(w)
		})
	})
	return c
}

func operationTable(ops []client.Operation, now time.Time) grid {
	g := newGrid("ID", "NODE", "KIND", "STATE", "STEP", "CONDUCTOR", "ACCEPTED", "TOOK", "ERROR")
	for i := range ops {
		o := &ops[i]
		step := fmt.Sprintf("%d of %d", len(o.Steps), len(o.Steps))
		if s := o.Current(); s != nil {
			step = fmt.Sprintf("%d of %d %s", s.Index+1, len(o.Steps), s.Name())
		}
		g.add(o.ID, o.Label(), o.Kind, stateOf(o), step, o.Conductor, moment(o.AcceptedAt),
			between(o.AcceptedAt, o.EndedAt, now), atMost(o.Error, mostError))
	}
	return g
}

func newOperationShow(a *asker) *cobra.Command {
	c := &cobra.Command{
		Use: "show ID", Short: "Show an operation with its steps", Args: cobra.ExactArgs(1),
		Example: "  temper operation show 12", ValidArgsFunction: a.completeOperations(1, false),
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		o, err := a.Operation(ctx, args[0])
		if err != nil {
			return err
		}
		return a.show(o, func(w io.Writer) error {
			if err := operationFields(o, a.now()).writeTo(w); err != nil {
				return err
			}
			_, err := fmt.Fprintf(w, "\n%s\n", stepTable(o, a.now()).Render())
			if err == nil && len(o.Decisions) > 0 {
				_, err = fmt.Fprintf(w, "\n%s\n", decisionTable(o).Render())
			}
			return err
		})
	})
	return c
}

func operationFields(o *client.Operation, now time.Time) grid {
	g := newGrid()
	for _, f := range [][2]string{
		{"operation", o.ID},
		{"node", strings.TrimSpace(o.NodeName + " " + o.NodeUUID)},
		{"kind", o.Kind},
		{"state", stateOf(o)},
		{"error", o.Error},
		{"requested by", o.RequestedBy},
		{"accepted", moment(o.AcceptedAt)},
		{"begun", moment(o.BegunAt)},
		{"ended", moment(o.EndedAt)},
		{"took", between(o.AcceptedAt, o.EndedAt, now)},
		{"conductor", o.Conductor},
		{"waiting until", moment(o.WaitingUntil)},
		{"on failure", o.OnFailure},
		{"retry of", o.RetryOf},
		{"asked", askedOf(o)},
		{"workflow", o.WorkflowURL},
	} {
		if f[1] != "" {
			g.add(f[0], f[1])
		}
	}
	return g
}

func stepTable(o *client.Operation, now time.Time) grid {
	g := newGrid("STEP", "NAME", "STATE", "ATTEMPTS", "CONDUCTOR", "STARTED", "TOOK", "LAST ERROR")
	for _, s := range o.Steps {
		g.add(fmt.Sprint(s.Index+1), s.Name(), s.State, tried(s), s.Conductor, moment(s.StartedAt),
			stepTook(o, s, now), cmp.Or(s.LastError, s.Note))
	}
	return g
}

// askedOf is what is asked of an operation, by whom and why; what was asked and done is not.
func askedOf(o *client.Operation) string {
	if o.Asked == "" {
		return ""
	}
	return o.Asked + words(" by ", o.AskedBy) + words(": ", o.AskedReason)
}

// tried is how often a step was begun, and how often it failed of how many times it may.
func tried(s client.Step) string {
	switch {
	case s.Failures == 0:
		return fmt.Sprint(s.Attempts)
	case s.Limit == 0:
		return fmt.Sprintf("%d, %d failed", s.Attempts, s.Failures)
	}
	return fmt.Sprintf("%d, failed %d of %d", s.Attempts, s.Failures, s.Limit)
}

func newOperationCancel(a *asker) *cobra.Command {
	var reason string
	var f following
	c := &cobra.Command{
		Use: "cancel ID...", Short: "Stop operations, undo what is half done, and free their nodes", Args: cobra.MinimumNArgs(1),
		Example: "  temper operation cancel 12 --reason \"wrong image\" --wait 5m", ValidArgsFunction: a.completeOperations(0, true),
	}
	c.Flags().StringVar(&reason, "reason", "", "`why`")
	f.addFlags(c, toStop)
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		asked := each(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*pursuit, error) {
			op, err := a.CancelOperation(ctx, id, reason)
			if err != nil {
				return nil, err
			}
			return &pursuit{name: op.Label(), id: id, goal: toStop, op: op}, nil
		})
		return a.conclude(ctx, f, defaultParallel, asked)
	})
	return c
}

func newOperationWatch(a *asker) *cobra.Command {
	var of string
	var f following
	c := &cobra.Command{
		Use: "watch ID...", Short: "Stay with operations until they are over, or hold; exit code 0 only if they succeeded",
		Long:    "Stay with operations until they are over, or hold.\n\n" + exitCodes,
		Example: "  temper operation watch 12\n  temper operation watch --node n1", ValidArgsFunction: a.completeOperations(0, true),
	}
	c.Long = c.Short + "\n\n" + exitCodes
	c.Flags().StringVar(&of, "node", "", "the newest operation of this `node` instead of one by its id")
	f.addEvery(c)
	c.Flags().DurationVar(&f.wait, "wait", 0, "for this `DURATION` at most")
	must(c.RegisterFlagCompletionFunc("node", a.completeNodes("", 0)))
	f.watch = true
	c.Args = func(_ *cobra.Command, args []string) error {
		if (of == "") == (len(args) == 0) {
			return errors.New("name operations by their ids, or one node with --node")
		}
		return nil
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		if of != "" {
			list, err := a.Operations(ctx, client.OperationFilter{Node: of}, 1)
			switch {
			case err != nil:
				return advised(err)
			case len(list.Items) == 0:
				return fmt.Errorf("node %s never had an operation", of)
			}
			args = []string{list.Items[0].ID}
		}
		asked := each(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*pursuit, error) {
			op, err := a.Operation(ctx, id)
			if err != nil {
				return nil, err
			}
			return &pursuit{name: op.Label(), id: id, op: op}, nil
		})
		return a.conclude(ctx, f, defaultParallel, asked)
	})
	return c
}
