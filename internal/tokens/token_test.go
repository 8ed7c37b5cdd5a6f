package tokens

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATokenHasAFormOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		text, id, hash := New()
		got, same, ok := parse(text)
		require.True(t, ok, text)
		require.Equal(t, id, got)
		require.Equal(t, hash, same)
		require.False(t, seen[id] || seen[text])
		seen[id], seen[text] = true, true
		require.True(t, ValidID(id))
	}
	text, _, _ := New()
	for _, bad := range []string{"", "temper_", text[:len(text)-1], text + "0", " " + text, text + "\n", strings.Replace(text, "temper_", "temper-", 1), strings.ToUpper(text[:7]) + text[7:], text[:20] + "é" + text[22:]} {
		_, _, ok := parse(bad)
		require.False(t, ok, "%q", bad)
	}
}
