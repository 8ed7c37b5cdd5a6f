package redfish

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func eventsIn(stream string) (n int) {
	_ = eachEvent(strings.NewReader(stream), func() { n++ })
	return n
}

func TestEventsOfAStreamAreCounted(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]int{
		"":                                  0,
		": a comment\n\n":                   0,
		"id: 1\ndata: {}\n\n":               1,
		"id: 1\r\ndata: {}\r\n\r\n":         1,
		"data: {}\r\rdata: {}\r\r":          2,
		"data: {\ndata: }\n\n":              1,
		"data\n\n":                          1,
		"database: 1\n\ndatum\n\n":          0,
		"data: without an end":              0,
		"event: x\n\n":                      0,
		strings.Repeat("x", 1<<20) + "\n\n": 0,
		"data:" + strings.Repeat("x", 1<<20) + "\n\n\n\n": 1,
	} {
		require.Equal(t, want, eventsIn(stream), "%.40q", stream)
	}
}

func FuzzStreamOfEvents(f *testing.F) {
	f.Add("id: 1\ndata: {}\n\n")
	f.Add(":\r\n\r\ndata\r\r")
	f.Fuzz(func(t *testing.T, stream string) {
		n := eventsIn(stream)
		require.LessOrEqual(t, n, strings.Count(stream, "data"))
		require.Equal(t, n, eventsIn(strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")), "line ends are alike")
	})
}
