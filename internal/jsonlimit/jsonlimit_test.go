package jsonlimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/jsonlimit"
)

func TestWhatPassesABoundIsRefused(t *testing.T) {
	limits := jsonlimit.Limits{Bytes: 100, Elements: 10, Depth: 4}
	for body, want := range map[string]jsonlimit.Bound{
		`{"a":[1,2,3],"b":{}}`:                                    "",
		`"` + strings.Repeat("x", 98) + `"`:                       "",
		`"` + strings.Repeat("x", 99) + `"`:                       jsonlimit.Bytes,
		`[1,2,3,4,5,6,7,8,9,10]`:                                  "",
		`[1,2,3,4,5,6,7,8,9,10,11]`:                               jsonlimit.Elements,
		`[{},{},{},{},{}]`:                                        "",
		`[{},{},{},{},{},{}]`:                                     jsonlimit.Elements,
		`[[[[]]]]`:                                                "",
		`[[[[[]]]]]`:                                              jsonlimit.Depth,
		`{"a":{"a":{"a":{"a":{}}}}}`:                              jsonlimit.Depth,
		`"[[[[[[[[{{{{{{,,,,,,,,,,,,,,,,,,,,"`:                    "",
		`"\"[[[[[[[[{{{{{{,,,,,,,,,,,,,,,,,,\\\","`:               "",
		`["\\",[[[[]]]]]`:                                         jsonlimit.Depth,
		`[],[],[],[],[],[],[],[],[],[]`:                           jsonlimit.Elements,
		`{"a":1,"a":2,"a":3,"a":4,"a":5,"a":6,"a":7,"a":8,"a":9}`: "",
		`{"a":1,"a":2,"a":3,"a":4,"a":5,"a":6,"a":7,"a":8,"a":9,"a":0,"a":1,"a":2}`: jsonlimit.Elements,
	} {
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			raw, err := read(r, limits)
			require.Equal(t, want, jsonlimit.Exceeded(err), "%s: %v", body, err)
			if want == "" {
				require.NoError(t, err)
				require.Equal(t, body, string(raw))
			}
		}
	}
	_, err := read(strings.NewReader(`[[[[[]]]]]`), limits)
	require.EqualError(t, err, "is nested deeper than 4 levels")
}

// However strings are cut, what is left is the same document with shorter strings.
func TestLongStringsAreCut(t *testing.T) {
	units := []string{`\"`, `\\`, `\u0041`, `\ud83d\ude00`, "é", "x", "{", ",", `\n`}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var long strings.Builder
		for range random.IntN(40) {
			long.WriteString(units[random.IntN(len(units))])
		}
		body := `{"` + long.String() + `":["` + long.String() + `", 1],"b":"` + long.String() + `"}`
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			raw, err := read(r, jsonlimit.Limits{Text: 7, Kept: 200})
			require.NoError(t, err, body)
			var got map[string]any
			require.NoError(t, json.Unmarshal(raw, &got), "%s became %s", body, raw)
			require.Contains(t, got, "b")
			require.LessOrEqual(t, len(got["b"].(string)), 16)
		}
	}
	raw, err := read(strings.NewReader(`["1234567","12345678"]`), jsonlimit.Limits{Text: 7})
	require.NoError(t, err)
	require.JSONEq(t, `["1234567","1234567"]`, string(raw))
	_, err = read(strings.NewReader(`["1234567","12345678"]`), jsonlimit.Limits{Text: 7, Kept: 20})
	require.Equal(t, jsonlimit.Bytes, jsonlimit.Exceeded(err), "what is kept has a bound of its own")
}

func TestLongStringsTakeNoMemory(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"logs":"`), io.LimitReader(zeroes{}, 64<<20), strings.NewReader(`"}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	raw, err := read(endless, jsonlimit.Limits{Bytes: 100 << 20, Text: 1 << 10, Kept: 1 << 20})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, raw, 1<<10+len(`{"logs":""}`))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestReadErrorsAreToldAsTheyAre(t *testing.T) {
	broken := errors.New("broken")
	_, err := read(io.MultiReader(strings.NewReader(`{"a":`), iotest.ErrReader(broken)), jsonlimit.Limits{})
	require.ErrorIs(t, err, broken)
}

func TestBudget(t *testing.T) {
	ctx := context.Background()
	b := jsonlimit.NewBudget(100, 10, 1)
	read := func(n int) (func(), error) {
		_, done, err := b.Read(ctx, strings.NewReader(strings.Repeat("1", n)), jsonlimit.Limits{})
		return done, err
	}
	first, err := read(90) // 80 of the 100
	require.NoError(t, err)
	second, err := read(31)
	require.ErrorIs(t, err, jsonlimit.ErrBusy)
	second()
	small, err := read(10)
	require.NoError(t, err, "a small one never waits")
	small()

	waiting, cancel := context.WithCancel(ctx)
	cancel()
	_, done, err := b.Read(waiting, strings.NewReader(strings.Repeat("1", 20)), jsonlimit.Limits{})
	require.ErrorIs(t, err, jsonlimit.ErrBusy, "there is one turn, and the first has it")
	done()
	first()
	again, err := read(110)
	require.NoError(t, err, "everything was given back")
	again()
}

// read reads a document to its end.
func read(r io.Reader, l jsonlimit.Limits) ([]byte, error) {
	return io.ReadAll(jsonlimit.NewReader(r, l))
}
