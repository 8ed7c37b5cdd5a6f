package cli

import (
	"context"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/watch"
)

func newOperationUnpause(s *session) *cobra.Command {
	var reason string
	var o watch.Options
	c := &cobra.Command{
		Use: "unpause ID...", Short: "Unpause operations that somebody has paused in Temporal", Args: cobra.MinimumNArgs(1),
		Example: "  temper operation unpause 12 --watch", ValidArgsFunction: s.completeOperations(0, true),
	}
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the node's history")
	o.AddFlags(c, watch.Succeed)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		asked := forEach(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*watch.Target, error) {
			op, err := s.UnpauseOperation(ctx, id, reason)
			if err != nil {
				return nil, err
			}
			return &watch.Target{Name: op.Label(), ID: op.ID, Goal: watch.Succeed, Op: op}, nil
		})
		return s.finish(ctx, o, defaultParallel, asked)
	})
	return c
}
