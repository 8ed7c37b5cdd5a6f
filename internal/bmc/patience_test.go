package bmc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatienceIsLearnedBetweenItsBounds(t *testing.T) {
	p := NewPatience(Settings{}.WithDefaults())
	require.Equal(t, 4*time.Second, p.Within(), "nothing is known")
	for range 3 * answersKept {
		p.Answered(50 * time.Millisecond)
	}
	require.Equal(t, 4*time.Second, p.Within(), "a fast BMC never waits longer")
	p.Answered(10 * time.Second)
	require.Equal(t, 20*time.Second, p.Within(), "twice as long as its slowest answer in a hundred")
	p.Answered(50 * time.Second)
	require.Equal(t, time.Minute, p.Within(), "not longer than the upper bound")
	for range answersKept {
		p.Answered(50 * time.Millisecond)
	}
	require.Equal(t, 4*time.Second, p.Within(), "the slow answers are too long ago")
}

func TestARequestThatRanOutOfTimeDoublesThePatience(t *testing.T) {
	p := NewPatience(Settings{}.WithDefaults())
	for _, want := range []time.Duration{8, 16, 32, 60, 60} {
		p.RanOut(p.Within())
		require.Equal(t, want*time.Second, p.Within())
	}
	for range answersKept - 1 {
		p.Answered(time.Second)
	}
	require.Equal(t, time.Minute, p.Within())
	p.Answered(time.Second)
	require.Equal(t, 4*time.Second, p.Within(), "its answers show by now that it is fast")
}

func TestPatienceIsTakenOverFromOtherProcesses(t *testing.T) {
	p := NewPatience(Settings{}.WithDefaults())
	p.Inherit(16 * time.Second)
	require.Equal(t, 16*time.Second, p.Within())
	p.Inherit(8 * time.Second)
	require.Equal(t, 16*time.Second, p.Within(), "this process knows more")
	for range answersKept {
		p.Answered(time.Second)
	}
	p.Inherit(16 * time.Second)
	require.Equal(t, 4*time.Second, p.now(), "it is what this process has told before it knew better")
	p.Inherit(time.Hour)
	require.Equal(t, time.Minute, p.Within())
}

func TestPatienceThatIsSetIsNotLearned(t *testing.T) {
	p := NewPatience(Settings{RequestTimeout: 9 * time.Second, MostTimeout: 9 * time.Second}.WithDefaults())
	p.RanOut(9 * time.Second)
	p.Answered(8 * time.Second)
	p.Inherit(time.Minute)
	require.Equal(t, 9*time.Second, p.Within())
}

func TestThe99thPercentileIsTheNearestRank(t *testing.T) {
	var values []time.Duration
	require.Zero(t, percentile99(values))
	for i := range 200 {
		values = append(values, time.Duration(200-i))
	}
	require.Equal(t, time.Duration(198), percentile99(values))
	require.Equal(t, time.Duration(200), percentile99(values[:1]))
}
