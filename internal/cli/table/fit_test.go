package table

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
)

type screen struct {
	bytes.Buffer
	width int
}

func (s *screen) Width() int { return s.width }

func TestTheMiddleIsCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 7, "short"},
		{"rack-17-server-0042", 10, "rack-…0042"},
		{"rack-17-server-0042", 9, "rack…0042"},
		{"0123456789", 1, "…"},
		{"漢字漢字漢字漢字", 8, "漢字…字"},
	} {
		got := cutMiddle(c.in, c.width)
		require.Equal(t, c.want, got, "%s in %d", c.in, c.width)
		require.LessOrEqual(t, text.StringWidth(got), c.width)
	}
}

func TestATableFitsTheScreen(t *testing.T) {
	g := New("NAME", "UUID", "STATE", "CAUSE", "ERROR").Whole("CAUSE").Wrap("ERROR")
	cause, words := "agent_never_called_and_more", "the agent on server-with-a-long-name did not call back within half an hour after its boot"
	g.Add(strings.Repeat("rack-", 12)+"1", "5f6e8b1c-0a3d-4b57-9a53-3f1f7f0f4c11", "deploying", cause, words)
	g.Add("n2", "6f6e8b1c-0a3d-4b57-9a53-3f1f7f0f4c12", "active", "", "")
	for width := 90; width < 200; width += 7 {
		s := &screen{width: width}
		require.NoError(t, g.Print(s))
		for line := range strings.Lines(s.String()) {
			require.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width, "in %d:\n%s", width, s)
		}
		require.Contains(t, s.String(), cause)
		for _, word := range strings.Fields(words) {
			require.Contains(t, s.String(), word)
		}
	}
	var plain bytes.Buffer
	require.NoError(t, g.Print(&plain))
	require.Contains(t, plain.String(), words, "what is no screen has no width")
	require.NoError(t, g.Print(&screen{width: 1}), "it can't be so narrow")
}
