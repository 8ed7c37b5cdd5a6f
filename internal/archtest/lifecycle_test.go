package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sqltest"
)

// lifeFields are the fields of node.Node that stand for sqltest.LifeColumns. Only a transition changes them.
var lifeFields = []string{
	"ProvisionState", "TargetProvisionState", "ProvisionUpdatedAt", "InspectionStartedAt", "InspectionFinishedAt",
}

// lifeWriters are the files that may write them, and why.
var lifeWriters = map[string]string{
	"internal/node/transition.go":  "says what a transition changes",
	"internal/store/transition.go": "writes what a transition has changed",
	"internal/store/node_row.go":   "reads them from the database",
	"internal/store/nodes.go":      "inserts a node in its first state",
	"internal/store/attention.go":  "reads the states of nodes that need a person",
	"internal/store/deleted.go":    "reads the last state of a node that was deleted",
	"api/ironic/node_create.go":    "chooses the first state of a node",
	"api/ironic/node_list.go":      "fills a filter, not a node",
}

// The statements that the store makes from the table of columns have no column's name in them: a test of the store holds them.
func TestOnlyTransitionsWriteTheProvisionState(t *testing.T) {
	writes := fieldWrites(t, "../..")
	statements, err := sqltest.Tree("../..")
	require.NoError(t, err)
	for file, all := range statements {
		for _, w := range all {
			if (w.Table == "nodes" || w.Table == "") && slices.Contains(sqltest.LifeColumns, w.Column) {
				writes[file] = append(writes[file], w.String())
			}
		}
	}
	for file, all := range writes {
		for _, w := range all {
			if _, allowed := lifeWriters[file]; !allowed {
				t.Errorf("%s: %s. A node changes its provision state in one way: node.Move or closing.Operation says what changes, "+
					"and queueState in internal/store/transition.go writes it", file, w)
			}
		}
	}
	for file := range lifeWriters {
		require.NotEmpty(t, writes[file], "%s writes nothing of the life cycle any more: take it off the list", file)
	}
	for _, w := range writes["internal/store/nodes.go"] {
		require.NotContains(t, w, sqltest.Update, "only a new node gets its state in internal/store/nodes.go")
	}
}

func TestWritesOfFieldsAreFound(t *testing.T) {
	for source, want := range map[string][]string{
		`n.ProvisionState = node.Active`:                                    {"assigns ProvisionState"},
		`n.Node.TargetProvisionState, err = "", nil`:                        {"assigns TargetProvisionState"},
		`read(&n.InspectionStartedAt)`:                                      {"takes the address of InspectionStartedAt"},
		`use(&node.Node{UUID: id, ProvisionState: node.Enroll})`:            {"sets ProvisionState"},
		`all := []node.Node{{ProvisionState: node.Enroll}}`:                 {"sets ProvisionState"},
		`all := map[string]*Node{"a": {ProvisionUpdatedAt: &now}}`:          {"sets ProvisionUpdatedAt"},
		`f := node.Filter{ProvisionState: node.Active}`:                     nil,
		`if n.ProvisionState == node.Active { n.Fault = "" }`:               nil,
		`row := client.Node{ProvisionState: string(n.ProvisionState)}.Name`: nil,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n\nfunc f() {\n"+source+"\n}\n", parser.SkipObjectResolution)
		require.NoError(t, err, source)
		require.Equal(t, want, fieldWritesOf(f), source)
	}
}

// fieldWrites returns what each file of the program, tests and what is for them aside, writes of lifeFields.
func fieldWrites(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, top := range []string{"api", "activities", "cmd", "internal", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			short, _ := filepath.Rel(root, path)
			short = filepath.ToSlash(short)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || forTests(short)):
				return filepath.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				if w := fieldWritesOf(f); len(w) > 0 {
					out[short] = w
				}
			}
			return err
		}))
	}
	return out
}

// fieldWritesOf are the assignments to lifeFields, the pointers to them, and nodes that are made with them.
func fieldWritesOf(f *ast.File) (out []string) {
	field := func(verb string, e ast.Expr) {
		if s, ok := e.(*ast.SelectorExpr); ok && slices.Contains(lifeFields, s.Sel.Name) {
			out = append(out, verb+" "+s.Sel.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				field("assigns", left)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				field("takes the address of", n.X)
			}
		case *ast.CompositeLit:
			for _, lit := range nodesIn(f, n) {
				for _, e := range lit.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); ok && slices.Contains(lifeFields, key.Name) {
							out = append(out, "sets "+key.Name)
						}
					}
				}
			}
		}
		return true
	})
	return out
}

// nodesIn returns lit if it is a node of the domain, or those of its elements that are, without a type of their own.
func nodesIn(f *ast.File, lit *ast.CompositeLit) (out []*ast.CompositeLit) {
	typ, many := lit.Type, true
	switch t := lit.Type.(type) {
	case *ast.ArrayType:
		typ = t.Elt
	case *ast.MapType:
		typ = t.Value
	default:
		many = false
	}
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if !isNode(f, typ) {
		return nil
	}
	if !many {
		return []*ast.CompositeLit{lit}
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if element, ok := e.(*ast.CompositeLit); ok && element.Type == nil {
			out = append(out, element)
		}
	}
	return out
}

// isNode reports whether a type is node.Node; in package client, Node is another one.
func isNode(f *ast.File, typ ast.Expr) bool {
	switch t := typ.(type) {
	case *ast.Ident:
		return t.Name == "Node" && f.Name.Name != "client"
	case *ast.SelectorExpr:
		from, ok := t.X.(*ast.Ident)
		return ok && from.Name == "node" && t.Sel.Name == "Node"
	}
	return false
}
