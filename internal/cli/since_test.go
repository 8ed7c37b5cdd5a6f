package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSinceIsATimeOrHowLongAgo(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"90m":                       now.Add(-90 * time.Minute),
		"7d":                        time.Date(2026, 2, 23, 12, 0, 0, 0, time.UTC),
		"2026-01-02":                time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		"2026-01-02T15:04:05Z":      time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
		"2026-01-02T15:04:05+02:00": time.Date(2026, 1, 2, 13, 4, 5, 0, time.UTC),
		"2026-01-02 15:04:05Z":      time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), // as tables have it
	} {
		f := sinceFlag{now: func() time.Time { return now }}
		require.NoError(t, f.Set(in), in)
		require.True(t, want.Equal(f.Time), "%s: %s", in, f.Time)
	}
	for _, in := range []string{"", "yesterday", "-5m", "0s", "12", "999999d"} {
		require.Error(t, (&sinceFlag{now: time.Now}).Set(in), in)
	}
}
