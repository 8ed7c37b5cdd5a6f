package stack_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

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
				err := stack.Await(t.Context(), 20*stack.Look, func() error {
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
