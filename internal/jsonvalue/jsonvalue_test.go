package jsonvalue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/jsonvalue"
)

func TestNumbersKeepTheirSpelling(t *testing.T) {
	for _, text := range []string{`{"a":[9007199254740993,18446744073709551615,12345678901234567890123,1.0,-0,1e2,0.1]}`, `1.0`, `[]`, `"1"`} {
		var v any
		require.NoError(t, jsonvalue.Unmarshal([]byte(text), &v))
		again, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, text, string(again))
	}
}

// It accepts and refuses what encoding/json does.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{``, ` `, `{`, `1 `, `1 2`, `{}]`, `{"a":1}x`, "[1]\n", `null`, `nul`, `"\ud800"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v, same any
		require.Equal(t, json.Valid(b), jsonvalue.Unmarshal(b, &v) == nil)
		if jsonvalue.Check(b) == nil && json.Valid(b) { // nothing is replaced
			again, err := json.Marshal(v)
			require.NoError(t, err)
			require.NotContains(t, strings.ReplaceAll(string(b), `\ufffd`, ""), "\x00")
			require.NoError(t, jsonvalue.Unmarshal(again, &same))
			require.Equal(t, v, same)
			require.NoError(t, jsonvalue.Check(again))
		}
	})
}

func TestWhatCannotBeKeptIsNamed(t *testing.T) {
	long := strings.Repeat("1", jsonvalue.MaxDigits+1)
	for text, want := range map[string]string{
		"{\"a\":{\"b~/c\":[0,\"x\xe9\"]}}": "/a/b~0~1c/1 is text that is not valid UTF-8",
		"{\"a\":{\"\xe9\":1}}":             "/a has a key that is text that is not valid UTF-8",
		`["\ud800x"]`:                      "/0 is text with half",
		`["\ud800\u0041"]`:                 "/0 is text with half",
		`["\ud800\n"]`:                     "/0 is text with half",
		`["\udc00\ud800"]`:                 "/0 is text with half",
		`["\ud800\ud800\udc00"]`:           "/0 is text with half",
		`{"a\u0000":1}`:                    "The value has a key that is text with the character U+0000",
		`{"a":"\u0000"}`:                   "/a is text with the character U+0000",
		`[1,1e400000]`:                     "/1 is a number with more than 400 digits",
		`[1e99999999999999999999]`:         "/0 is a number",
		`[1e-401]`:                         "/0 is a number",
		`[` + long + `]`:                   "/0 is a number",
		`{"a":{"b":1,"\u0062":2}}`:         "/a/b is given more than once",
		`"` + "\xe9" + `"`:                 "The value is text that is not valid UTF-8",
	} {
		require.ErrorContains(t, jsonvalue.Check([]byte(text)), want, text)
	}
	for _, text := range []string{`["\ud83d\ude00\\u0000\\ud800"]`, `{"a":{"a":1},"b":{"a":1}}`, `[1e399,-5e-324,1.7976931348623157e308,-0,true,null,"é"]`, `[`, `{"a"`, `{"a":`, `"\`, `["\u00`, ``, `[1,`} {
		require.NoError(t, jsonvalue.Check([]byte(text)), text)
	}
}

func TestNumbersAreRead(t *testing.T) {
	for text, want := range map[string]int64{"3": 3, "3.0": 3, "30e-1": 3, "9007199254740993": 9007199254740993, "-9223372036854775808": -9223372036854775808} {
		n, ok := jsonvalue.Int(json.Number(text))
		require.True(t, ok, text)
		require.Equal(t, want, n)
	}
	for _, v := range []any{json.Number("3.5"), json.Number("9223372036854775808"), json.Number("1e999999999"), 1.5, 1e300, "3", nil, true} {
		_, ok := jsonvalue.Int(v)
		require.False(t, ok, "%v", v)
	}
	for text, want := range map[string]string{"1e3": "1000", "1.50": "1.5", "18446744073709551615": "18446744073709551615", "-25e-3": "-0.025", "0.0": "0"} {
		require.Equal(t, want, jsonvalue.Plain(json.Number(text)))
	}
}
