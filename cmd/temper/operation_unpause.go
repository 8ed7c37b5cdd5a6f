package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newOperationUnpause(a *asker) *cobra.Command {
	var reason string
	var f following
	c := &cobra.Command{
		Use: "unpause ID...", Short: "Unpause operations that somebody has paused in Temporal", Args: cobra.MinimumNArgs(1),
		Example: "  temper operation unpause 12 --watch", ValidArgsFunction: a.completeOperations(0, true),
	}
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the node's history")
	f.addFlags(c, toSucceed)
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		asked := each(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*pursuit, error) {
			op, err := a.UnpauseOperation(ctx, id, reason)
			if err != nil {
				return nil, err
			}
			return &pursuit{name: op.Label(), id: op.ID, goal: toSucceed, op: op}, nil
		})
		return a.conclude(ctx, f, defaultParallel, asked)
	})
	return c
}
