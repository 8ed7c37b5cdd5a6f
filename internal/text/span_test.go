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

func TestASizeHasAtMostThreeDigits(t *testing.T) {
	for bytes, want := range map[float64]string{
		0: "0 B", 512: "512 B", 1000: "1 kB", 5 << 30: "5.37 GB", 48.2e6: "48.2 MB", 480103981056: "480 GB", 1920383410176: "1.92 TB", 100e9: "100 GB",
	} {
		require.Equal(t, want, text.Size(bytes))
	}
	a, b := text.Sizes(20e9+1, 20e9)
	require.Equal(t, []string{"20000000001 bytes", "20000000000 bytes"}, []string{a, b}, "what differs looks different")
	a, b = text.Sizes(20e9, 30e9)
	require.Equal(t, []string{"20 GB", "30 GB"}, []string{a, b})
}
