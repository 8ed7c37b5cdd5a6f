package main

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/chaos"
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
	return await(ctx, patience, func() error {
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

func TestOnABusyMachineIsWaitedLonger(t *testing.T) {
	for name, c := range map[string]struct {
		look  time.Duration // how long one takes
		right int           // which look finds what is awaited
		err   bool
	}{
		"found at once":                      {look: 0, right: 1},
		"not found on an idle machine":       {look: 0, right: 22, err: true},
		"found late on a busy machine":       {look: time.Second, right: 5},
		"not found on a busy machine either": {look: time.Second, right: 6, err: true},
		"a look that does not return":        {look: time.Hour, right: 2, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				err := await(t.Context(), 20*look, func() error {
					time.Sleep(c.look)
					if looks++; looks < c.right {
						return errors.New("not yet")
					}
					return nil
				})
				require.Equal(t, c.err, err != nil)
			})
		})
	}
}
