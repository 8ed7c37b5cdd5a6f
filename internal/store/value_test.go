package store

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func FuzzWords(f *testing.F) {
	f.Add("ü", 4)
	f.Add("a\x00b\xff", 100)
	f.Add(strings.Repeat("€", 50), 7)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 3 + min(max(limit, 0), 1000)
		got := words(s, limit)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), limit)
		require.NotContains(t, got, "\x00")
		if utf8.ValidString(s) && len(s) <= limit && !strings.Contains(s, "\x00") {
			require.Equal(t, s, got)
		}
	})
}

func FuzzJSONB(f *testing.F) {
	f.Add("a\x00b", `\u0000`)
	f.Add(`\\u0000`, "\x00")
	f.Fuzz(func(t *testing.T, key, value string) {
		b, err := jsonb(map[string]any{key: []any{value, map[string]any{"k": value}}})
		require.NoError(t, err)
		var got map[string][]any
		require.NoError(t, json.Unmarshal(b, &got))
		clean := func(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD") }
		require.NotContains(t, got[clean(key)], "\x00")
		if utf8.ValidString(key) && utf8.ValidString(value) {
			require.Equal(t, clean(value), got[clean(key)][0])
			require.Equal(t, map[string]any{"k": clean(value)}, got[clean(key)][1])
		}
	})
}
