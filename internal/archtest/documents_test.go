package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	codeSpan     = regexp.MustCompile("`([^`\n]+)`")
	pathInSpan   = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)*/?$`)
	markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	testName     = regexp.MustCompile(`^Test[A-Z]\w+$`)
)

// What says where things are must not send readers to where they were.
func TestPathsInDocumentsExist(t *testing.T) {
	for _, doc := range []string{"CONTRIBUTING.md", "docs/architecture.md"} {
		for _, path := range missingPaths(t, "../..", doc) {
			t.Errorf("%s names %s, which does not exist", doc, path)
		}
	}
	docs, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	for _, doc := range append(docs, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, link := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(link[1], ":") {
				_, err := os.Stat(filepath.Join(filepath.Dir(doc), link[1]))
				require.NoError(t, err, "%s links to %s", doc, link[1])
			}
		}
	}
}

// A checkout has every picture that was ever committed, so they are few and small.
func TestPicturesAreShownAndSmall(t *testing.T) {
	pictures, err := filepath.Glob("../../docs/pictures/*")
	require.NoError(t, err)
	require.NotEmpty(t, pictures)
	page, err := os.ReadFile("../../docs/temporal-ui.md")
	require.NoError(t, err)
	var size int64
	for _, picture := range pictures {
		require.Contains(t, string(page), "](pictures/"+filepath.Base(picture)+")", "no page shows it")
		info, err := os.Stat(picture)
		require.NoError(t, err)
		size += info.Size()
	}
	require.Less(t, size, int64(1<<20), "bytes of docs/pictures")
}

func TestMissingPathsAreFound(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "api/httpd"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "api/doc.go"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "page.md"), []byte("`api/doc.go`, `/v1/nodes`, `a/b`, `nodeTable`\n`api/gone.go`\n"+
		"| `api/` | `httpd/`, `lost/` |\n"), 0o600))
	require.Equal(t, []string{"api/gone.go", "api/lost/"}, missingPaths(t, root, "page.md"))
}

// missingPaths returns the paths in code spans of a document that do not exist: those that
// begin with a folder of root and, in a line that has named a folder, those that end with a
// slash, which are below it.
func missingPaths(t *testing.T, root, doc string) (missing []string) {
	t.Helper()
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}
	text, err := os.ReadFile(filepath.Join(root, doc))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		folder := ""
		for _, span := range codeSpan.FindAllStringSubmatch(line, -1) {
			path := span[1]
			first, _, nested := strings.Cut(path, "/")
			switch {
			case !nested || !pathInSpan.MatchString(path):
			case exists(path):
				if folder == "" && strings.HasSuffix(path, "/") {
					folder = path
				}
			case exists(first):
				missing = append(missing, path)
			case folder != "" && strings.HasSuffix(path, "/") && !exists(folder+path):
				missing = append(missing, folder+path)
			}
		}
	}
	return missing
}

// The recipes name the tests that tell what is missing.
func TestTestsInDocumentsExist(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	known := testNames(t)
	for _, span := range codeSpan.FindAllStringSubmatch(string(text), -1) {
		if testName.MatchString(span[1]) {
			require.True(t, known[span[1]], "CONTRIBUTING.md names the test %s, which does not exist", span[1])
		}
	}
}

// testNames are the names of all tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, top := range []string{"activities", "api", "cmd", "deploy", "internal", "test", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", top), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range declared.FindAllStringSubmatch(string(text), -1) {
				names[name[1]] = true
			}
			return err
		}))
	}
	return names
}
