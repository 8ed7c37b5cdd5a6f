package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sqltest"
	"go.temper.dev/temper/internal/store"
)

// The statements that are made from the table of columns write a node's place in its life cycle only
// where the node is new, and where it moves. See TestOnlyTransitionsWriteTheProvisionState for all others.
func TestOnlyMovesWriteTheLifeCycle(t *testing.T) {
	t.Parallel()
	for _, c := range sqltest.LifeColumns {
		create, patch, move := store.NodeWriters(c)
		require.True(t, move, "a move does not write %s", c)
		require.False(t, patch, "a user may change %s", c)
		require.True(t, create || c != "provision_state", "a new node has no %s", c)
	}
	const queue = "lockedNode.queueState"
	require.Equal(t, map[string]map[string]bool{
		"onMove":         {"nodeTable": true, "updateStateSQL": true, "stateArgs": true},
		"updateStateSQL": {queue: true},
		"stateArgs":      {queue: true},
	}, users(t, "onMove", "updateStateSQL", "stateArgs"), "one statement writes what a move changes, and one function, queueState, queues it")
}

// users returns the declarations of the store that use each of these names.
func users(t *testing.T, names ...string) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for _, name := range names {
		out[name] = map[string]bool{}
	}
	note := func(declared string, in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name != declared && out[id.Name] != nil {
				out[id.Name][declared] = true
			}
			return true
		})
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
						if id, ok := star.X.(*ast.Ident); ok {
							name = id.Name + "." + name
						}
					}
				}
				note(name, d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for i, value := range v.Values {
							note(v.Names[i].Name, value)
						}
					}
				}
			}
		}
	}
	return out
}
