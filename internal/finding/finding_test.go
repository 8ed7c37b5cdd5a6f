package finding

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestAPartIsLeftOutUnlessItsParametersAreThere(t *testing.T) {
	Rows["test"] = Row{Role: RoleTrouble, Words: "a {b}[ with {c}[ and {d}]], at {e}"}
	defer delete(Rows, "test")
	for want, p := range map[string]Params{
		"a 1, at ":                 {"b": 1, "c": "", "e": (*time.Time)(nil)},
		"a [x], at 03:04:05Z":      {"b": "[x]", "d": "alone", "e": now},
		"a {c} with 1m and 2, at ": {"b": "{c}", "c": time.Minute, "d": 2},
		"a b with [1 {d}] and ], at 2030-01-02 03:03:05Z (1m)": {"b": "b", "c": "[1 {d}]", "d": "]", "e": Past(now.Add(-time.Minute))},
	} {
		require.Equal(t, want, Of("test", p).Words(Reader{Now: now}))
	}
}

func TestParametersAreReadByPrograms(t *testing.T) {
	have, err := Params{"at": now, "since": Past(now), "for": 90 * time.Second, "n": 2, "who": "c1"}.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `{"at":"2030-01-02T03:04:05Z","since":"2030-01-02T03:04:05Z","for":90,"n":2,"who":"c1"}`, string(have))
}

// Each row is of a code that somebody finds.
func TestEveryCodeIsFoundSomewhere(t *testing.T) {
	table, err := os.ReadFile("rows.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`(?m)^\t(\w+) += (?:row|fact|step)\("`).FindAllStringSubmatch(string(table), -1)
	var source strings.Builder
	for _, pattern := range []string{"wait.go", "../explain/*.go", "../../workflows/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				text, err := os.ReadFile(f)
				require.NoError(t, err)
				source.Write(text)
			}
		}
	}
	for _, code := range codes {
		require.Regexp(t, `(finding\.|Of\(|code, |Code == )`+code[1]+`\b`, source.String(), "nobody finds %s", code[1])
	}
	require.Len(t, Rows, len(codes), "a code has two rows")
}

// Words that a tired person reads: at most two sentences of 25 words each, of which a parameter counts as one.
func TestFindingsAreShort(t *testing.T) {
	sentence := regexp.MustCompile(`\. `)
	for _, code := range slices.Sorted(maps.Keys(Rows)) {
		sentences := sentence.Split(Rows[code].Words, -1)
		require.LessOrEqual(t, len(sentences), 2, code)
		for _, s := range sentences {
			require.LessOrEqual(t, len(strings.Fields(s)), 25, "%s: %s", code, s)
		}
	}
}
