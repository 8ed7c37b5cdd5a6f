package events_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
)

func TestNothingIsSettledThatAnOpenTransactionMayStillCommit(t *testing.T) {
	var h events.Horizon
	settled, known := h.Settle(events.Look{Written: 10})
	require.True(t, known)
	require.EqualValues(t, 10, settled)
	settled, _ = h.Settle(events.Look{Written: 15, Writers: []string{"a"}})
	require.EqualValues(t, 10, settled, "a may have 11")
	settled, _ = h.Settle(events.Look{Written: 20, Writers: []string{"a", "b"}})
	require.EqualValues(t, 10, settled)
	settled, _ = h.Settle(events.Look{Written: 22, Writers: []string{"b"}})
	require.EqualValues(t, 15, settled, "b was not there when 15 was written")
	settled, _ = h.Settle(events.Look{Written: 22})
	require.EqualValues(t, 22, settled)
}

func TestOfTheFirstLookNothingIsKnownUntilItsTransactionsHaveEnded(t *testing.T) {
	var h events.Horizon
	_, known := h.Settle(events.Look{Written: 10, Writers: []string{"a"}})
	require.False(t, known)
	_, known = h.Settle(events.Look{Written: 12, Writers: []string{"a", "b"}})
	require.False(t, known)
	settled, known := h.Settle(events.Look{Written: 13, Writers: []string{"b"}})
	require.True(t, known)
	require.EqualValues(t, 10, settled)
}

// Whatever transactions do and whenever somebody looks, a number is visible by the time it is settled, or it was rolled back.
func TestSettledNumbersAreVisible(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		var h events.Horizon
		var written, last int64
		open := map[string][]int64{} // a transaction has its lock before its first number
		uncommitted := map[int64]bool{}
		for step := range 200 {
			switch r.IntN(4) {
			case 0:
				open[string(rune('a'+step))] = nil
			case 1:
				if tx := slices.Sorted(maps.Keys(open)); len(tx) > 0 {
					written++
					at := tx[r.IntN(len(tx))]
					open[at] = append(open[at], written)
					uncommitted[written] = true
				}
			case 2:
				if tx := slices.Sorted(maps.Keys(open)); len(tx) > 0 {
					at := tx[r.IntN(len(tx))]
					for _, n := range open[at] {
						delete(uncommitted, n)
					}
					delete(open, at)
				}
			case 3:
				settled, known := h.Settle(events.Look{Written: written, Writers: slices.Collect(maps.Keys(open))})
				if !known {
					continue
				}
				require.GreaterOrEqual(t, settled, last, "seed %d: it goes forward only", seed)
				last = settled
				for n := range uncommitted {
					require.Greater(t, n, settled, "seed %d", seed)
				}
			}
		}
	}
}
