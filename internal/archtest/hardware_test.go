package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// makesDrivers has the one table by names of hardware types beside package node's.
const makesDrivers = "worker/hardware.go"

// What a hardware type or an implementation can do stands in its entry (package node).
// Who compares a name with a string instead knows something that no entry says, and a
// new driver would have to be told to it.
func TestNobodyComparesNamesOfHardware(t *testing.T) {
	names := hardwareNames()
	for path, p := range packages(t) {
		name, ours := strings.CutPrefix(path, module)
		if !ours || below(name, "test") || forTests(name) {
			continue
		}
		for _, f := range p.GoFiles {
			if name+"/"+f == makesDrivers {
				continue
			}
			for _, use := range comparisons(t, filepath.Join(p.Dir, f), nil, names) {
				t.Errorf("%s: put what is asked here into the entry of the hardware type (internal/node/hardware_types.go)", use)
			}
		}
	}
}

func TestComparisonsAreFound(t *testing.T) {
	names := hardwareNames()
	for text, found := range map[string]bool{
		`_ = x == "fake"`:                                true,
		`_ = "direct" != x`:                              true,
		`switch x { case "a", "redfish": }`:              true,
		`_ = map[string]int{"redfish-virtual-media": 1}`: true,
		`_ = m["fake-hardware"]`:                         true,
		`_ = strings.HasPrefix(x, "no-")`:                true,
		`_ = slices.Contains(x, "noop")`:                 true,
		`_ = x == "yes"`:                                 false,
		`f("redfish")`:                                   false,
		`_ = T{Driver: "redfish"}`:                       false,
	} {
		src := "package x\nfunc _() {\n" + text + "\n}\n"
		require.Equal(t, found, len(comparisons(t, "x.go", src, names)) > 0, text)
	}
}

func hardwareNames() map[string]bool {
	names := map[string]bool{"no-": true}
	for _, driver := range node.HardwareTypes() {
		names[driver] = true
		h, _ := node.Hardware(driver)
		for _, impls := range h.Supports() {
			for _, i := range impls {
				names[i] = true
			}
		}
	}
	delete(names, "http")    // it is also the scheme of a URL
	delete(names, "ramdisk") // it is also what an agent is booted from
	return names
}

// comparisons are the places of a file where a string is compared with one of names, or
// looked up by it.
func comparisons(t *testing.T, path string, src any, names map[string]bool) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, 0)
	require.NoError(t, err)
	check := func(list ...ast.Expr) {
		for _, e := range list {
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			if s, err := strconv.Unquote(lit.Value); err == nil && names[s] {
				found = append(found, fset.Position(lit.Pos()).String()+" compares with "+lit.Value)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				check(n.X, n.Y)
			}
		case *ast.CaseClause:
			check(n.List...)
		case *ast.IndexExpr:
			check(n.Index)
		case *ast.KeyValueExpr:
			check(n.Key)
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "slices" || x.Name == "strings") {
					check(n.Args...)
				}
			}
		}
		return true
	})
	return found
}
