package main

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/test/stack"
)

func TestARoundThatTheMachineHasStalledBeginsAnew(t *testing.T) {
	ctx, temper := built(t)
	stall, tried := true, 0
	killed := row{
		name: "maintenance set on a machine that stood still, and then the conductor killed", points: begun, judge: untouched,
		happen: func(ctx context.Context, r *round) error {
			tried++
			if err := r.held(ctx, false); err != nil {
				return err
			}
			if stall {
				stall = false
				if err := errors.Join(r.signal("temporal", syscall.SIGSTOP), r.handsOver(ctx), r.signal("temporal", syscall.SIGCONT)); err != nil {
					return err
				}
			}
			return r.loseInMaintenance(ctx)
		},
	}
	err := run(ctx, options{temper: temper, matrix: []row{killed}, kinds: []string{"deploy", "undeploy"}, most: 3, atOnce: 50, say: t.Logf})
	if wrong(err) {
		require.NoError(t, err)
	}
	require.Equal(t, 2, tried)
}

// handsOver waits until the victim has handed a step over.
func (r *round) handsOver(ctx context.Context) error {
	return stack.Await(ctx, patience, func() error {
		passed, err := r.victim.trace()
		if err != nil {
			return err
		}
		for _, p := range passed {
			if p.Name == chaos.HandedOver {
				return nil
			}
		}
		return errors.New("the victim has handed nothing over")
	})
}
