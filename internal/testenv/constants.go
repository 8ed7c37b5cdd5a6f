package testenv

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Constants returns the constants of a string type that a Go file declares, by name, so that a test can say something of
// each of them.
func Constants(t testing.TB, path, typeName string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == typeName {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			out[spec.Names[0].Name] = value
		}
		return true
	})
	require.NotEmpty(t, out, "%s declares no constant of type %s", path, typeName)
	return out
}
