package gophercloud_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const baremetal = "github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/"

// packages are gophercloud's packages for Ironic's API.
var packages = []string{"allocations", "conductors", "drivers", "nodes", "ports"}

// uncalled are the functions that no test calls, and why.
var uncalled = map[string]string{
	"nodes.ToGetAllSubscriptionMap": "GetAllSubscriptions calls it",
	"nodes.ToGetSubscriptionMap":    "GetSubscription calls it",
	"nodes.ToDeleteSubscriptionMap": "DeleteSubscription calls it",
	"nodes.ToCreateSubscriptionMap": "CreateSubscription calls it",
}

// unserved are the functions whose answer is a refusal or empty (refused_test.go), and what Temper lacks.
var unserved = map[string]string{
	"drivers.CallVendorPassthru": "no driver has methods of its own",
}

// No function of gophercloud's packages is left out unnoticed, also after an update.
func TestEveryFunctionIsCalled(t *testing.T) {
	called := map[string]map[string]bool{} // the files that call a function
	for _, file := range parse(t, ".", "_test.go") {
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if from, ok := s.X.(*ast.Ident); ok {
					name := from.Name + "." + s.Sel.Name
					if called[name] == nil {
						called[name] = map[string]bool{}
					}
					called[name][file.name] = true
				}
			}
			return true
		})
	}
	functions := map[string]bool{}
	for _, pkg := range packages {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", baremetal+pkg).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, file := range parse(t, strings.TrimSpace(string(out)), ".go") {
			for _, d := range file.syntax.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
					functions[pkg+"."+f.Name.Name] = true
				}
			}
		}
	}
	require.Greater(t, len(functions), 60)
	for name := range functions {
		files := called[name]
		why, excused := uncalled[name]
		require.Equal(t, excused, len(files) == 0, "%s: either a test calls it, or uncalled says why not (%q)", name, why)
		_, refused := unserved[name]
		require.Equal(t, refused, files["refused_test.go"], "%s: unserved says what Temper lacks of it, and refused_test.go what is answered", name)
	}
	for _, list := range []map[string]string{uncalled, unserved} {
		for name := range list {
			require.True(t, functions[name], "gophercloud has no %s", name)
		}
	}
}

type source struct {
	name   string
	syntax *ast.File
}

// parse reads the Go files of a folder whose names end so; those of tests only if that is asked for.
func parse(t *testing.T, dir, suffix string) (files []source) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, suffix) && (strings.HasSuffix(name, "_test.go") == (suffix == "_test.go")) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, source{name, f})
		}
	}
	require.NotEmpty(t, files)
	return files
}
