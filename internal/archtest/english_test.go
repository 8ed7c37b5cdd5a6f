package archtest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:generate go test -run ^TestNewLinesAreInPlainEnglish$ . -update

var update = flag.Bool("update", false, "lower the counts of obscure phrases to what the files have")

// obscure are phrases that hide which process or person does something. Name it: "the API prints ..." and not "... is told".
var obscure = []string{
	"nobody looks", "nobody attends", "nobody can say",
	"is told", "are told", "was told", "tells of",
	"is said", "are said", "is to be said",
	"is awaited", "are awaited",
	"what is known of", "as far as is known",
}

var anyObscure = regexp.MustCompile(`(?i)\b(` + strings.Join(obscure, "|") + `)\b`)

// obscureCounts has a line with count and file for each file that had such phrases when this test was written.
const obscureCounts = "testdata/obscure.txt"

// A file may have as many obscure phrases as it has always had. The counts only fall: a change that removes a phrase
// lowers the count (go generate).
func TestNewLinesAreInPlainEnglish(t *testing.T) {
	text, err := os.ReadFile(obscureCounts)
	require.NoError(t, err)
	allowed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var count int
		var file string
		_, err := fmt.Sscan(line, &count, &file)
		require.NoError(t, err, line)
		allowed[file] = count
	}
	found := obscurePhrases(t, "../..")
	var counts strings.Builder
	for _, file := range slices.Sorted(maps.Keys(found)) {
		hits := found[file]
		if len(hits) > allowed[file] {
			t.Errorf("%s has %d obscure phrases, and had %d: say which process or person does it\n%s", file, len(hits), allowed[file], strings.Join(hits, "\n"))
		}
		if n := min(len(hits), allowed[file]); n > 0 {
			fmt.Fprintf(&counts, "%d %s\n", n, file)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(obscureCounts, []byte(counts.String()), 0o644))
	}
}

func TestObscurePhrasesAreFound(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "api/testdata"), 0o755))
	for file, text := range map[string]string{
		"api/a.go":          "package api\n\n// Is Told twice, as far as is known.\nvar this told int\n",
		"api/testdata/b.go": "// nobody looks\n",
		"page.md":           "The API tells the user.\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o600))
	}
	require.Equal(t, map[string][]string{"api/a.go": {`api/a.go:3: "Is Told"`, `api/a.go:3: "as far as is known"`}}, obscurePhrases(t, root))
}

// obscurePhrases returns, for each file with comments, documentation or texts, where it has obscure phrases.
func obscurePhrases(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path) // path begins with root
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || d.Name()[0] == '.' || name == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".sh", ".sql", ".yaml", ".yml"}, filepath.Ext(name)) || name == "internal/archtest/english_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		lower := bytes.ToLower(text)
		if !slices.ContainsFunc(obscure, func(phrase string) bool { return bytes.Contains(lower, []byte(phrase)) }) {
			return err // most files, and much sooner than the expression finds out
		}
		for _, at := range anyObscure.FindAllIndex(text, -1) {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			found[name] = append(found[name], fmt.Sprintf("%s:%d: %q", name, line, text[at[0]:at[1]]))
		}
		return err
	}))
	return found
}
