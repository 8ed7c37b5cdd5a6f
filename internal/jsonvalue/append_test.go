package jsonvalue_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/jsonvalue"
)

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"", "plain", `q"uote`, `back\slash`, "<a&b>", "\x00\n\u2028é\xff", "~ "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, v := range []any{s, []string{s, s}, map[string]any{s: s}} {
			want, err := json.Marshal(v)
			require.NoError(t, err)
			have, err := jsonvalue.Append(nil, v)
			require.NoError(t, err)
			require.Equal(t, string(want), string(have))
		}
	})
}

func TestAppendWritesWhatMarshalWrites(t *testing.T) {
	t.Parallel()
	type named string
	for _, v := range []any{
		nil, true, false, 0, -17, int64(1) << 60, 1.5, named("x"), json.Number("1e5"),
		[]string{},
		[]string(nil),
		[]any{1, "a"},
		map[string]any{},
		map[string]any(nil),
		map[string]any{"b": 1, "a": nil},
	} {
		want, err := json.Marshal(v)
		require.NoError(t, err)
		have, err := jsonvalue.Append([]byte("x"), v)
		require.NoError(t, err)
		require.Equal(t, "x"+string(want), string(have))
	}
	have, err := jsonvalue.Append(nil, jsonvalue.Text(`{"a": 1}`))
	require.NoError(t, err)
	require.Equal(t, `{"a": 1}`, string(have))
	_, err = jsonvalue.Append(nil, func() {})
	require.Error(t, err)
}

func TestMembersAreAddedToAnObject(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		object string
		added  map[string]any
		want   string
	}{
		{`{}`, nil, `{}`},
		{`{}`, map[string]any{"a": 1}, `{"a": 1}`},
		{`{ }`, map[string]any{"a": 1, "b": "x"}, `{"a": 1, "b": "x"}`},
		{`{"z": {"y": "}"}}`, map[string]any{"a": []string{"}"}}, `{"z": {"y": "}"}, "a": ["}"]}`},
		{`{"a": 1, "n": 12345678901234567890}`, map[string]any{"a": 2}, `{"a": 2, "n": 12345678901234567890}`},
		{`{"z": {"a": 1}}`, map[string]any{"a": 2}, `{"z": {"a": 1}, "a": 2}`},
	} {
		have, err := jsonvalue.With([]byte(one.object), one.added)
		require.NoError(t, err)
		require.JSONEq(t, one.want, string(have))
	}
	have, err := jsonvalue.With([]byte(`{"a": 1, "n": 12345678901234567890}`), map[string]any{"a": 2})
	require.NoError(t, err)
	require.Contains(t, string(have), "12345678901234567890")
}
