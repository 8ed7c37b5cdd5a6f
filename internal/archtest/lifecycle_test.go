package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What belongs to a node's place in the life cycle: the columns, and the fields of
// node.Node that stand for them. Only a transition changes them.
var (
	lifeColumns = []string{
		"provision_state", "target_provision_state", "provision_updated_at", "inspection_started_at", "inspection_finished_at",
	}
	lifeFields = []string{
		"ProvisionState", "TargetProvisionState", "ProvisionUpdatedAt", "InspectionStartedAt", "InspectionFinishedAt",
	}
)

// lifeWriters are the files that may write them, and why.
var lifeWriters = map[string]string{
	"internal/node/transition.go":  "says what a transition changes",
	"internal/store/transition.go": "writes what a transition has changed",
	"internal/store/nodes.go":      "inserts a node in its first state",
	"api/ironic/node_create.go":    "chooses the first state of a node",
	"api/ironic/node_list.go":      "fills a filter, not a node",
}

func TestOnlyTransitionsWriteTheProvisionState(t *testing.T) {
	found := map[string]bool{}
	for file, writes := range lifeWrites(t, "../..") {
		found[file] = true
		for _, w := range writes {
			if _, allowed := lifeWriters[file]; !allowed {
				t.Errorf("%s: %s. A node changes its provision state in one way: node.Move or node.Closing says what changes, "+
					"and queueState in internal/store/transition.go writes it", file, w)
			}
		}
	}
	for file := range lifeWriters {
		require.True(t, found[file], "%s writes nothing of the life cycle any more: take it off the list", file)
	}
	for _, w := range lifeWrites(t, "../..")["internal/store/nodes.go"] {
		require.NotContains(t, w, "UPDATE", "only a new node gets its state in internal/store/nodes.go")
	}
}

func TestWritesOfTheProvisionStateAreFound(t *testing.T) {
	for sql, want := range map[string][]string{
		`UPDATE nodes SET driver = 'x', provision_state = @to WHERE id = @id`:                                            {"UPDATE provision_state"},
		`WITH a AS (SELECT 1), b AS (UPDATE nodes n SET provision_updated_at = now() FROM a) SELECT 1`:                   {"UPDATE provision_updated_at"},
		`update nodes set fault = case when a is not distinct from b then 1 end, (driver, provision_state) = (1, 2)`:     {"UPDATE provision_state"},
		`INSERT INTO nodes (uuid, provision_state) VALUES (1, 2)`:                                                        {"INSERT provision_state"},
		`INSERT INTO nodes (uuid) VALUES (1) ON CONFLICT (uuid) DO UPDATE SET target_provision_state = 'x'`:              {"UPDATE target_provision_state"},
		`SELECT 1 FROM nodes WHERE provision_state = 'x'`:                                                                nil,
		`UPDATE nodes SET instance_info = CASE WHEN provision_state = 'active' THEN '{}' END WHERE provision_state = ''`: nil,
		`UPDATE nodes SET driver = (SELECT d FROM x WHERE provision_state = '') FROM y WHERE provision_state = ''`:       nil,
		`INSERT INTO deleted_nodes (uuid, provision_state) VALUES (1, 2)`:                                                nil,
	} {
		require.Equal(t, want, sqlWrites(sql), sql)
	}
}

// lifeWrites returns what each file of the program, tests and what is for them aside, writes of the life cycle.
func lifeWrites(t *testing.T, root string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, top := range []string{"api", "activities", "cmd", "internal", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			folder, _ := filepath.Rel(root, path)
			if err != nil || !d.IsDir() || d.Name() == "testdata" || forTests(filepath.ToSlash(folder)) {
				return err
			}
			set := token.NewFileSet()
			files := map[string]*ast.File{}
			names, err := filepath.Glob(filepath.Join(path, "*.go"))
			for _, name := range names {
				if err == nil && !strings.HasSuffix(name, "_test.go") {
					files[name], err = parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
				}
			}
			constants := stringsOf(slices.Collect(maps.Values(files)))
			for name, f := range files {
				short, _ := filepath.Rel(root, name)
				if w := append(fieldWrites(f), statementWrites(f, constants)...); len(w) > 0 {
					out[filepath.ToSlash(short)] = w
				}
			}
			return err
		}))
	}
	return out
}

// fieldWrites are the assignments to fields of the life cycle.
func fieldWrites(f *ast.File) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, left := range a.Lhs {
			if s, ok := left.(*ast.SelectorExpr); ok && slices.Contains(lifeFields, s.Sel.Name) {
				out = append(out, "assigns "+s.Sel.Name)
			}
		}
		return true
	})
	return out
}

// stringsOf are the values of a package's constants and variables, by name.
func stringsOf(files []*ast.File) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					out[name.Name] = v.Values[i]
				}
			}
			return true
		})
	}
	return out
}

// statementWrites are the writes of the SQL that a file puts together.
func statementWrites(f *ast.File, constants map[string]ast.Expr) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			if text := textOf(n.(ast.Expr), constants, 0); text != "" {
				out = append(out, sqlWrites(text)...)
			}
			return false
		}
		return true
	})
	return out
}

// textOf is the text of an expression of strings; what is not known of it is left out.
func textOf(e ast.Expr, constants map[string]ast.Expr, depth int) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return textOf(e.X, constants, depth) + textOf(e.Y, constants, depth)
	case *ast.ParenExpr:
		return textOf(e.X, constants, depth)
	case *ast.Ident:
		if value, known := constants[e.Name]; known && depth < 20 {
			return textOf(value, constants, depth+1)
		}
	case *ast.CallExpr:
		var text strings.Builder
		for _, a := range e.Args {
			fmt.Fprintf(&text, " %s ", textOf(a, constants, depth))
		}
		return text.String()
	}
	return ""
}

var sqlToken = regexp.MustCompile(`'(?:[^']|'')*'|[A-Za-z_@][A-Za-z0-9_.]*|[^\s]`)

// sqlWrites are the columns of the life cycle that a statement writes.
func sqlWrites(sql string) (out []string) {
	tokens := sqlToken.FindAllString(strings.ToLower(sql), -1)
	for i, word := range tokens {
		var verb string
		var columns []string
		switch {
		case word == "set":
			verb, columns = "UPDATE", assigned(tokens[i+1:])
		case word == "into" && slices.Contains(tokens[i:min(i+2, len(tokens))], "nodes"):
			end := max(slices.Index(tokens[i:], ")"), 0)
			verb, columns = "INSERT", tokens[i:i+end]
		}
		for _, c := range columns {
			if slices.Contains(lifeColumns, c) {
				out = append(out, verb+" "+c)
			}
		}
	}
	return out
}

// assigned are the columns on the left sides of a SET clause, which the tokens begin with.
func assigned(tokens []string) (out []string) {
	left, depth := true, 0
	for i, word := range tokens {
		switch word {
		case "(":
			depth++
		case ")":
			if depth--; depth < 0 {
				return out
			}
		case "=":
			left = left && depth > 0
		case ",":
			left = left || depth == 0
		case "from":
			if depth == 0 && tokens[i-1] != "distinct" {
				return out
			}
		case "where", "returning":
			if depth == 0 {
				return out
			}
		default:
			if left {
				out = append(out, word)
			}
		}
	}
	return out
}
