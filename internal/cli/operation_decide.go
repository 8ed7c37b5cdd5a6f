package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// newDecisions returns the commands that decide about an operation which holds at a failed step.
func newDecisions(s *session) []*cobra.Command {
	var all []*cobra.Command
	for _, one := range []struct {
		action, short, example string
		goal                   watch.Goal
	}{
		{client.Retry, "Retry operations that have ended, or the failed step at which they hold", "  temper operation retry 12 --reason \"cable plugged in\" --watch", watch.Succeed},
		{client.Skip, "Skip the failed step at which an operation holds", "  temper operation skip 12 --reason \"done by hand\"", watch.Succeed},
		{client.Abort, "Abort an operation that holds at a failed step, and undo what it left half done", "  temper operation abort 12", watch.Cancel},
	} {
		var reason string
		var o watch.Options
		c := &cobra.Command{
			Use: one.action + " ID...", Short: one.short, Args: cobra.MinimumNArgs(1),
			Example: one.example, ValidArgsFunction: s.completeOperations(0, one.action != client.Retry),
		}
		c.Flags().StringVar(&reason, "reason", "", "`why`, for the records")
		o.AddFlags(c, one.goal)
		c.RunE = s.run(func(ctx context.Context, args []string) error {
			asked := forEach(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*watch.Target, error) {
				ask := func() (*client.Operation, error) { return s.Decide(ctx, id, one.action, reason) }
				if one.action == client.Retry { // also of operations that have ended
					ask = func() (*client.Operation, error) { return s.RetryOperation(ctx, id, reason) }
				}
				op, err := ask()
				if err != nil {
					return nil, s.explainRefusal(ctx, id, err)
				}
				return &watch.Target{Name: op.Label(), ID: op.ID, Goal: one.goal, Op: op}, nil
			})
			return s.finish(ctx, o, defaultParallel, asked)
		})
		all = append(all, c)
	}
	return all
}

// explainRefusal adds to a refused decision what the user can do instead.
func (s *session) explainRefusal(ctx context.Context, id string, err error) error {
	code := client.CodeOf(err)
	if code == fault.DecisionUnconfirmed {
		return &advisedError{err, "temper operation show " + id + " tells whether it was taken; the same decision, sent again, is taken once"}
	}
	if !slices.Contains([]fault.Code{fault.OperationEnded, fault.NoDecisionAwaited, fault.StateNotAllowed, fault.RequestConflict}, code) || len(client.HelpOf(err)) > 0 {
		return err
	}
	op, unread := s.Operation(ctx, id)
	switch {
	case unread != nil:
		return err
	case op.Ended():
		return &advisedError{err, "temper operation show " + id + " tells how it ended"}
	case len(op.Choices) > 0:
		return &advisedError{err, "possible are: " + strings.Join(op.Choices, ", ")}
	case !node.Ask(op.Asked).Ends():
		return &advisedError{err, "temper operation cancel " + id + " ends it"}
	}
	return err
}
