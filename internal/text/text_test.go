package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/text"
)

func TestCutBoundsAWord(t *testing.T) {
	require.Equal(t, "active", text.Cut("active"))
	long := text.Cut("a" + strings.Repeat("ü", 1000))
	require.True(t, utf8.ValidString(long))
	require.LessOrEqual(t, len(long), 64+len("..."))
	require.True(t, strings.HasSuffix(long, "..."))
}

func TestWhatIsStorableIsBoundedAndHasNoZeroBytes(t *testing.T) {
	require.Equal(t, "a\uFFFDb", text.Storable("a\xff\x00b", 255))
	long := text.Storable(strings.Repeat("ü", 200), 255)
	require.True(t, utf8.ValidString(long))
	require.LessOrEqual(t, len(long), 255)
	require.True(t, strings.HasSuffix(long, "ü..."))
	require.Equal(t, long, text.Storable(long, 255))
}

func TestParts(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	before := now.Add(-90 * time.Second)
	require.Equal(t, "no disk", text.Clause(" no disk.\n"))
	require.Equal(t, " (wrong image)", text.Because("wrong image"))
	require.Empty(t, text.Because(""))
	require.Equal(t, " since 2030-01-02 03:02:35Z (1m30s)", text.Since(&before, now))
	require.Empty(t, text.Since(nil, now))
	require.Zero(t, text.Ago(before, now), "another clock is ahead")
}

func TestALineIsPrintableAndBounded(t *testing.T) {
	for in, want := range map[string]string{
		"a\r\n\tb  c": "a b c", "a\x00\x1b[2Jb": "a[2Jb", "a\xffb": "ab", " ": "", "éééééé": "éééé…", strings.Repeat(" ", 40) + "a": "",
	} {
		require.Equal(t, want, text.Line(in, 5), "%q", in)
	}
}

func TestDurationsHaveNoPartsThatAreZeroAtTheirEnd(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 3 * time.Minute: "3m", 200 * time.Second: "3m20s", 10 * time.Second: "10s",
		time.Hour + 20*time.Second: "1h0m20s", 500 * time.Millisecond: "500ms", -time.Minute: "-1m", 10 * time.Minute: "10m", 10 * time.Hour: "10h",
	} {
		require.Equal(t, want, text.Duration(d))
	}
}

func TestAWordForAShell(t *testing.T) {
	for word, want := range map[string]string{"a-b/c.d:1": "a-b/c.d:1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'"} {
		require.Equal(t, want, text.ShellWord(word))
	}
}
