package redfish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
)

func TestPatienceIsLearnedBetweenItsBounds(t *testing.T) {
	p := newPatience(bmc.Settings{}.WithDefaults())
	require.Equal(t, 4*time.Second, p.within(), "nothing is known")
	for range 3 * answersKept {
		p.answered(50 * time.Millisecond)
	}
	require.Equal(t, 4*time.Second, p.within(), "a fast BMC never waits longer")
	p.answered(10 * time.Second)
	require.Equal(t, 20*time.Second, p.within(), "twice as long as its slowest answer in a hundred")
	p.answered(50 * time.Second)
	require.Equal(t, time.Minute, p.within(), "not longer than the upper bound")
	for range answersKept {
		p.answered(50 * time.Millisecond)
	}
	require.Equal(t, 4*time.Second, p.within(), "the slow answers are too long ago")
}

func TestARequestThatRanOutOfTimeDoublesThePatience(t *testing.T) {
	p := newPatience(bmc.Settings{}.WithDefaults())
	for _, want := range []time.Duration{8, 16, 32, 60, 60} {
		p.ranOut(p.within())
		require.Equal(t, want*time.Second, p.within())
	}
	for range answersKept - 1 {
		p.answered(time.Second)
	}
	require.Equal(t, time.Minute, p.within())
	p.answered(time.Second)
	require.Equal(t, 4*time.Second, p.within(), "its answers show by now that it is fast")
}

func TestPatienceIsTakenOverFromOtherProcesses(t *testing.T) {
	p := newPatience(bmc.Settings{}.WithDefaults())
	p.inherit(16 * time.Second)
	require.Equal(t, 16*time.Second, p.within())
	p.inherit(8 * time.Second)
	require.Equal(t, 16*time.Second, p.within(), "this process knows more")
	for range answersKept {
		p.answered(time.Second)
	}
	p.inherit(16 * time.Second)
	require.Equal(t, 4*time.Second, p.now(), "it is what this process has told before it knew better")
	p.inherit(time.Hour)
	require.Equal(t, time.Minute, p.within())
}

func TestPatienceThatIsSetIsNotLearned(t *testing.T) {
	p := newPatience(bmc.Settings{RequestTimeout: 9 * time.Second, MostTimeout: 9 * time.Second}.WithDefaults())
	p.ranOut(9 * time.Second)
	p.answered(8 * time.Second)
	p.inherit(time.Minute)
	require.Equal(t, 9*time.Second, p.within())
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
