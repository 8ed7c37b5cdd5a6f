package text_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/text"
)

func TestASpanHasAtMostTwoUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 300 * time.Millisecond: "0.3 s", 11400 * time.Millisecond: "11 s", 59900 * time.Millisecond: "1 min",
		250 * time.Second: "4 min 10 s", 124 * time.Minute: "2 h 4 min", 2 * time.Hour: "2 h", 27 * time.Hour: "1 d 3 h",
		24*time.Hour - time.Second: "1 d",
	} {
		require.Equal(t, want, text.Span(d), d)
	}
}
