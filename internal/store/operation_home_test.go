package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// operationHome is the file that has every statement that writes an operation's state.
const operationHome = "operation_changes.go"

var (
	// An assignment in SQL. A column in a condition has the name of its table before it, a
	// column that is written can't have one.
	writesState = regexp.MustCompile(`(?:^|[\s,(])(phase|waiting_for|waiting_until|stalled|stalled_at|kept_for|kept_left|paused|orphaned|rests|temporal_pause|asked|asked_by|asked_reason|asked_power|asked_at)\s*=[^=]`)
	opensOne    = regexp.MustCompile(`(?i)INSERT\s+INTO\s+operations\b`)
)

// stateWrites returns the string literals of a Go file that write an operation's state.
func stateWrites(t *testing.T, path string, src any) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		require.NoError(t, err)
		if writesState.MatchString(text) || opensOne.MatchString(text) {
			out = append(out, set.Position(lit.Pos()).String()+": "+strings.TrimSpace(text))
		}
		return true
	})
	return out
}

// Tests may write any state, also those in packages that only tests import (forTests in package archtest).
func TestAnOperationsStateIsWrittenInOneFile(t *testing.T) {
	t.Parallel()
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "test" || d.Name() == "apitest" || d.Name() == "testdata" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && path != "../.."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || d.Name() == operationHome:
			return nil
		}
		for _, w := range stateWrites(t, path, nil) {
			t.Errorf("%s\nwrites the state of an operation: that stands in %s alone, by node.OperationRules", w, operationHome)
		}
		return nil
	}))
	require.NotEmpty(t, stateWrites(t, operationHome, nil))

	for sql, want := range map[string]int{
		"UPDATE operations o SET phase = 'running' WHERE o.id = 1":           1,
		"UPDATE operations SET undo = '[]', stalled='' WHERE id = 1":         1,
		"asked = CASE WHEN true THEN 'cancel' END":                           1,
		"INSERT INTO operations (node_id) VALUES (1)":                        1,
		"UPDATE operations o SET undo = '[]' WHERE o.phase = 'waiting'":      0,
		"SELECT o.phase FROM operations o WHERE (o.asked = '' OR o.paused)":  0,
		"UPDATE operations SET missing_since = NULL, claim_seq = 1 + @phase": 0,
	} {
		require.Len(t, stateWrites(t, "x.go", "package x\n\nconst x = `"+sql+"`\n"), want, sql)
	}
}
