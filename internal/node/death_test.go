package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestTheFateOfWhoeverHadTheClaim(t *testing.T) {
	claimed := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(seconds float64) time.Time { return claimed.Add(time.Duration(seconds * float64(time.Second))) }
	for name, c := range map[string]struct {
		seen, now float64 // seconds after the claim
		replaced  bool
		want      node.Fate
		at        float64
	}{
		"it died at once, and was seen before it claimed": {-2, 5, false, node.FateEarly, 0},
		"it is started again already":                     {-2, 1, true, node.FateEarly, 0},
		"it died when it was last seen":                   {6.9, 14, false, node.FateEarly, 6.9},
		"it may have lived for ten seconds":               {7.1, 14, false, node.FateLate, 7.1},
		"but not when its step was silent before":         {7.1, 13, false, node.FateEarly, 7.1},
		"it has lived for an hour":                        {3600, 3606, false, node.FateLate, 3600},
		"it is heard of":                                  {4, 6, false, node.FateAlive, 4},
		"nobody took the step for an hour":                {1, 3600, false, node.FateEarly, 1},
		"nor where another has its name":                  {9, 3600, true, node.FateLate, 9},
	} {
		t.Run(name, func(t *testing.T) {
			f := node.FormerConductor{Conductor: "c1", Incarnation: 3, ClaimedAt: claimed, SeenAt: in(c.seen), Replaced: c.replaced}
			fate, d := f.Fate(in(c.now), 10*time.Second, 3*time.Second, 3500*time.Millisecond)
			require.Equal(t, c.want, fate)
			require.Equal(t, node.Death{Conductor: "c1", Incarnation: 3, At: in(c.at)}, d)
		})
	}
}

func TestAStepIsPutOffForTwiceAsLongEachTime(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	var s node.Step
	for deaths, want := range map[int]time.Duration{3: time.Minute, 4: 2 * time.Minute, 5: 4 * time.Minute} {
		s.Deaths = make([]node.Death, deaths)
		s.PutOff(now, time.Minute)
		require.Equal(t, now.Add(want), *s.NotBefore, "%d deaths", deaths)
		require.False(t, s.NeedsDecision())
		s.PutOff(now, 7*time.Minute)
		require.Equal(t, now.Add(min(7*want, 10*time.Minute)), *s.NotBefore, "at most ten minutes")
	}
	s.Deaths = make([]node.Death, 6)
	s.PutOff(now, time.Minute)
	require.Nil(t, s.NotBefore, "somebody decides")
	require.True(t, s.NeedsDecision())
	require.Equal(t, 6, s.PutOffs)
	s.Again()
	require.Empty(t, s.Deaths)
	require.Nil(t, s.NotBefore)
}
