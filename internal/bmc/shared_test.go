package bmc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestABMCGetsSoManyRequestsInAnySecond(t *testing.T) {
	for _, perSecond := range []int{1, 5, 20} {
		s := bmc.NewShared(bmc.Settings{PerSecond: perSecond}.WithDefaults())
		began, sent := time.Now(), 0
		for ; time.Since(began) < 1500*time.Millisecond; sent++ {
			require.NoError(t, s.Acquire(t.Context()))
			s.Release()
		}
		burst := max(perSecond/4, 1)
		most := float64(burst) + float64(perSecond-burst+1)*time.Since(began).Seconds()
		require.LessOrEqual(t, float64(sent), most, "%d a second", perSecond)
	}
}

func TestWhoCannotSendInTimeGetsNoSlot(t *testing.T) {
	s := bmc.NewShared(bmc.Settings{MaxPerBMC: 2, PerSecond: 1}.WithDefaults())
	require.NoError(t, s.Acquire(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.Acquire(ctx)
	require.True(t, fault.Is(err, fault.Busy), err)
	s.SetPerSecond(-1)
	require.NoError(t, s.Acquire(t.Context()), "its slot was given back")
	ctx, stop := context.WithCancelCause(t.Context())
	why := fault.New(fault.Lost, "over")
	stop(why)
	require.ErrorIs(t, s.Acquire(ctx), why)
}
