package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A REST resource is one file and its test.
func TestEveryResourceHasItsTest(t *testing.T) {
	for _, dir := range []string{"api/ironic", "api/temper"} {
		for _, problem := range untested(t, filepath.Join("../..", dir)) {
			t.Errorf("%s/%s", dir, problem)
		}
	}
}

func TestResourcesWithoutTestsAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"routes.go":    "package x\nvar _ = []any{s.getA, s.getB, s.getC}\n",
		"a.go":         "package x\nfunc (s *Server) getA() {}\n",
		"a_test.go":    "package x_test\nfunc TestA(t *testing.T) {}\n",
		"b.go":         "package x\nfunc (s *Server) getB() {}\n",
		"b_test.go":    "package x_test\nfunc help() {}\n",
		"c.go":         "package x\nfunc (s *Server) getC() {}\n",
		"d.go":         "package x\nfunc (s *Server) helper() {}\n",
		"gone_test.go": "package x_test\nfunc TestGone(t *testing.T) {}\n",
		"main_test.go": "package x_test\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.Equal(t, []string{
		"b.go has handlers, and there is no test in b_test.go",
		"c.go has handlers, and there is no test in c_test.go",
		"gone_test.go tests gone.go, which does not exist",
	}, untested(t, dir))
}

var declaresTest = regexp.MustCompile(`(?m)^func Test\w+\(`)

// untested says which files of a folder have handlers, which are the methods that
// its routes.go names, and no test beside them, and which tests have no such file.
func untested(t *testing.T, dir string) (problems []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	routed := handlersIn(t, filepath.Join(dir, "routes.go"))
	require.NotEmpty(t, routed)
	for _, path := range names {
		name := filepath.Base(path)
		if stem, isTest := strings.CutSuffix(name, "_test.go"); isTest {
			if stem != "main" && stem != "export" && !slices.Contains(names, filepath.Join(dir, stem+".go")) {
				problems = append(problems, name+" tests "+stem+".go, which does not exist")
			}
			continue
		}
		if !slices.ContainsFunc(methodsIn(t, path), func(m string) bool { return routed[m] }) {
			continue
		}
		test := strings.TrimSuffix(name, ".go") + "_test.go"
		text, err := os.ReadFile(filepath.Join(dir, test))
		if err != nil || !declaresTest.Match(text) {
			problems = append(problems, name+" has handlers, and there is no test in "+test)
		}
	}
	return problems
}

// handlersIn are the methods of s that a file names.
func handlersIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "s" {
				names[sel.Sel.Name] = true
			}
		}
		return true
	})
	return names
}

// methodsIn are the names of the methods that a file declares.
func methodsIn(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
			names = append(names, fn.Name.Name)
		}
	}
	return names
}
