package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aCommand is a command of the command line over the API in a text.
var aCommand = regexp.MustCompile(`temper (node|chassis|port|port-group|volume|deploy-template|runbook|allocation|driver|operation|ring|conductor|compute) [a-z]`)

// Explanations, errors and alarms name an action. Package help writes it as a command, and
// the command line knows its own.
func TestOnlyTheEdgesWriteCommands(t *testing.T) {
	for _, top := range []string{"activities", "api", "internal", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			switch {
			case err != nil:
				return err
			case d.IsDir() && (name == "internal/cli" || name == "internal/dev" || d.Name() == "testdata"):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && aCommand.MatchString(text.Value) {
					t.Errorf("%s: %s is a command: name the action (help.Action), and let internal/help write it", name, text.Value)
				}
				return true
			})
			return nil
		}))
	}
}
