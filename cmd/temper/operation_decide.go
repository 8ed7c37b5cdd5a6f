package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

// newDecisions are the commands about operations that hold at a step that failed.
func newDecisions(a *asker) []*cobra.Command {
	var all []*cobra.Command
	for _, one := range []struct {
		action, short, example string
		goal                   goal
	}{
		{client.Retry, "Do again what operations were to do that have ended, or the step at which they hold", "  temper operation retry 12 --reason \"cable plugged in\" --watch", toSucceed},
		{client.Skip, "Leave out the step at which an operation holds", "  temper operation skip 12 --reason \"done by hand\"", toSucceed},
		{client.Abort, "End an operation that holds at a step, and undo what is half done", "  temper operation abort 12", toStop},
	} {
		var reason string
		var f following
		c := &cobra.Command{
			Use: one.action + " ID...", Short: one.short, Args: cobra.MinimumNArgs(1),
			Example: one.example, ValidArgsFunction: a.completeOperations(0, one.action != client.Retry),
		}
		c.Flags().StringVar(&reason, "reason", "", "`why`, for the records")
		f.addFlags(c, one.goal)
		c.RunE = a.run(func(ctx context.Context, args []string) error {
			asked := each(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*pursuit, error) {
				ask := func() (*client.Operation, error) { return a.Decide(ctx, id, one.action, reason) }
				if one.action == client.Retry { // of what has ended, too
					ask = func() (*client.Operation, error) { return a.RetryOperation(ctx, id, reason) }
				}
				op, err := ask()
				if err != nil {
					return nil, a.undecided(ctx, id, err)
				}
				return &pursuit{name: op.Label(), id: op.ID, goal: one.goal, op: op}, nil
			})
			return a.conclude(ctx, f, defaultParallel, asked)
		})
		all = append(all, c)
	}
	return all
}

// undecided adds to the refusal of a decision what would be possible.
func (a *asker) undecided(ctx context.Context, id string, err error) error {
	code := client.CodeOf(err)
	if code == fault.TemporalUnavailable {
		return &advisedError{err, "it may still take the decision: temper operation show " + id + " tells"}
	}
	if !slices.Contains([]fault.Code{fault.OperationEnded, fault.NoDecisionAwaited, fault.StateNotAllowed, fault.RequestConflict}, code) || len(client.HelpOf(err)) > 0 {
		return err
	}
	op, look := a.Operation(ctx, id)
	switch {
	case look != nil:
		return err
	case op.Ended():
		return &advisedError{err, "temper operation show " + id + " tells how it ended"}
	case len(op.Choices) > 0:
		return &advisedError{err, "possible are: " + strings.Join(op.Choices, ", ")}
	case !slices.Contains([]string{client.AskCancel, client.AskAbort}, op.Asked):
		return &advisedError{err, "temper operation cancel " + id + " ends it"}
	}
	return err
}

func decisionTable(o *client.Operation) grid {
	g := newGrid("DECIDED", "ACTION", "STEP", "BY", "REASON")
	for _, d := range o.Decisions {
		g.add(moment(d.At), d.Action, d.Step, d.By, d.Reason)
	}
	return g
}
