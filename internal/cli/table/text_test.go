package table

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/text"
)

func TestNothingFromOthersReachesTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "-",
		" \n\t":                            "-",
		"two\nlines":                       "two lines",
		"\x1b[31mred\x1b]0;title\a":        "[31mred ]0;title",
		"right\u202eto left":               "right to left",
		"Übung 漢字":                         "Übung 漢字",
		string([]byte{0xff, 'x', 0xc2}):    "�x�",
		"carriage\rreturn and \u2028 line": "carriage return and   line",
	} {
		require.Equal(t, want, OneLine(in))
	}
	for in, want := range map[string]string{"short": "short", "ääääääää": "ääääääää", "123456789": "1234567…"} {
		require.Equal(t, want, text.TruncateRunes(in, 8))
	}
}
