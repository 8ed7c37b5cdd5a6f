package coverage_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
)

func conductor(id int64, impl ...string) coverage.Conductor {
	return coverage.Conductor{ID: id, Hostname: fmt.Sprint("c", id), Interfaces: map[string]map[string][]string{"d": {"power": impl}}}
}

func fleet() *coverage.Fleet {
	return &coverage.Fleet{
		Members: []coverage.Conductor{conductor(1, "a", "b"), conductor(2, "a"), conductor(3, "a")},
		Requirements: []coverage.Requirement{
			{ID: 7, Driver: "d", Interfaces: map[string]string{"power": "a"}},
			{ID: 8, Driver: "d", Interfaces: map[string]string{"power": "b"}},
			{ID: 9, Group: "g", Driver: "d", Interfaces: map[string]string{"power": "a"}},
		},
	}
}

func nodes(count int, need int64) []coverage.RingNode {
	var out []coverage.RingNode
	for i := range count {
		out = append(out, coverage.RingNode{ID: need*1000 + int64(i), UUID: fmt.Sprint(need, "-", i), Requirement: need})
	}
	return out
}

func TestARingIsStaleWhereWhatItWasComputedFromChanged(t *testing.T) {
	f := fleet()
	rings := coverage.Rings(f)
	require.Len(t, rings, 2)
	for _, r := range rings {
		require.True(t, r.Stale, "it was never computed")
		f.Rings = append(f.Rings, coverage.RingState{Group: r.Group, Driver: r.Driver, Covers: r.Covers})
	}
	stale := func() (out []bool) {
		for _, r := range coverage.Rings(f) {
			out = append(out, r.Stale)
		}
		return out
	}
	require.Equal(t, []bool{false, false}, stale())
	f.Changed = []int64{9}
	require.Equal(t, []bool{false, true}, stale(), "nodes came or went")
	f.Changed = nil
	f.Members = f.Members[:2]
	require.Equal(t, []bool{true, false}, stale(), "a conductor left")
	f.Members = append(f.Members, conductor(3, "b"))
	require.Equal(t, []bool{true, false}, stale(), "it came back with other interfaces")
}

func TestOnlyWhoHasAllInterfacesOwnsANode(t *testing.T) {
	ring := coverage.Rings(fleet())[0]
	moves, unsettled := ring.Next(append(nodes(20, 7), nodes(10, 8)...))
	require.Len(t, moves, 30)
	require.False(t, unsettled)
	owned := map[int64]int{}
	for _, m := range moves {
		owned[m.To]++
		if m.Node.Requirement == 8 {
			require.EqualValues(t, 1, m.To)
		}
	}
	require.Equal(t, map[int64]int{1: 10, 2: 10, 3: 10}, owned)
}

func TestWhatIfTellsWhatMovesAndWhatNobodyWouldCover(t *testing.T) {
	f := fleet()
	now := coverage.Rings(f)[0]
	all := append(nodes(20, 7), nodes(10, 8)...)
	moves, _ := now.Next(all)
	at := map[int64]int64{}
	for _, m := range moves {
		at[m.Node.ID] = m.To
	}
	for i := range all {
		all[i].Owner = at[all[i].ID]
	}
	all[3].Owner = 0 // the ring is not up to date
	then := coverage.Rings(coverage.Without(f, []string{"c1"}))[0]
	var w coverage.WhatIf
	w.Add(&now, &then, all)
	require.Len(t, w.Quarantined, 10)
	require.Empty(t, w.Moves, "c1 owned no other, and what is late is no part of it")
	require.Len(t, f.Members, 3, "nothing is changed")
}
