package agent_test

import (
	"testing"
	"testing/quick"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
)

func TestTiming(t *testing.T) {
	require.Equal(t, 90*time.Second, agent.HeartbeatDelay(300*time.Second, 0))
	require.Equal(t, 180*time.Second, agent.HeartbeatDelay(300*time.Second, 1))
	require.Equal(t, 5*time.Second, agent.HeartbeatRetry(0))
	require.Equal(t, 10*time.Second, agent.HeartbeatRetry(1))
	require.Equal(t, time.Second, agent.LookupDelay(1, 0))
	require.Equal(t, 2*time.Second, agent.LookupDelay(1, 1))
	require.Equal(t, time.Minute, agent.LookupDelay(9, 1))
	for conflict, want := range map[int]time.Duration{1: 5, 2: 10, 3: 30, 7: 30} {
		require.Equal(t, want*time.Second, agent.LookupConflictDelay(conflict))
	}
	require.Equal(t, 5*time.Second, agent.InspectionDelay(1))
	require.Equal(t, 30*time.Second, agent.InspectionDelay(agent.InspectionAttempts+4))
}

func TestLookupDelayStaysInItsBounds(t *testing.T) {
	require.NoError(t, quick.Check(func(attempt int, chance uint16) bool {
		d := agent.LookupDelay(attempt, float64(chance)/65535)
		return d >= time.Second && d <= time.Minute
	}, nil))
}
