package temper

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestANoisyBMCTakesNoRoomFromOthers(t *testing.T) {
	t.Parallel()
	l, now := newBMCEventLimits(), time.Now()
	require.True(t, l.take("noisy", now))
	require.True(t, l.take("quiet", now))
	l.learn("noisy", now)
	l.learn("quiet", now)
	taken := 0
	for range 10 * knownEventBurst {
		if l.take("noisy", now) {
			taken++
		}
	}
	require.Equal(t, subscriptionEventBurst-1, taken)
	for range subscriptionEventBurst - 1 {
		require.True(t, l.take("quiet", now))
	}
	require.True(t, l.take("noisy", now.Add(time.Second)))

	for i := range 2 * unknownEventBurst {
		require.Equal(t, i < unknownEventBurst-2, l.take(fmt.Sprint(i), now), "events of unknown subscriptions have a limit of their own")
	}
	require.True(t, l.take("quiet", now.Add(time.Second)))
}

func TestTheKnownSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	l, now := newBMCEventLimits(), time.Now()
	l.learn("in use", now)
	for i := range 3 * knownSubscriptions {
		l.learn(fmt.Sprint(i), now)
		require.NotNil(t, l.of("in use"))
	}
	require.LessOrEqual(t, len(l.recent)+len(l.older), 2*knownSubscriptions)
	require.Nil(t, l.of("0"), "it was not used for long")
}
