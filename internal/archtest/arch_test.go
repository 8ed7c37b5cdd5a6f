package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pkg is what `go list -deps -json` tells of a package.
type pkg struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// lookAround reads every folder of the module, so that go test knows what the
// answer depends on and does not repeat an old one from its cache: what `go
// list` reads it can't see.
func lookAround(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // something temporary that has just gone
			return nil
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != "../.." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
			return filepath.SkipDir
		}
		return nil
	}))
}

// packages are all packages of the module and what they need, without tests.
func packages(t *testing.T) map[string]pkg {
	t.Helper()
	lookAround(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Deps", "./...")
	cmd.Dir = "../.."
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	require.NoError(t, err, failed.String())
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		all[p.ImportPath] = p
	}
	require.Contains(t, all, module+"internal/archtest")
	return all
}

func TestImports(t *testing.T) {
	all := packages(t)
	third := func(path string) bool {
		p, known := all[path]
		return known && !p.Standard && !strings.HasPrefix(path, module)
	}
	for path, p := range all {
		name, ours := strings.CutPrefix(path, module)
		if !ours {
			continue
		}
		r, ok := ruleOf(name)
		if !ok {
			t.Errorf("%s has no rule: say in rules_test.go what it may import", name)
			continue
		}
		for _, i := range p.Imports {
			if dep, ours := strings.CutPrefix(i, module); ours && !r.allows(dep) {
				t.Errorf("%s imports %s: %s", name, dep, r.why)
			}
		}
		for _, d := range p.Deps {
			if r.forbids(d, third(d)) {
				t.Errorf("%s reaches %s%s: %s", name, d, through(all, p, d), r.why)
			}
		}
		for at, banned := range direct {
			for _, i := range p.Imports {
				if below(name, at) && slices.Contains(banned, i) {
					t.Errorf("%s imports %s: it must give the same answer every time", name, i)
				}
			}
		}
		if slices.ContainsFunc(noClock, func(at string) bool { return below(name, at) }) {
			for _, use := range uses(t, p, "time", clocks) {
				t.Errorf("%s: it must not look at the clock", use)
			}
		}
	}
}

// What drivers may import differs, so each has a rule of its own.
func TestEveryDriverHasARule(t *testing.T) {
	for path := range packages(t) {
		if name, ours := strings.CutPrefix(path, module); ours && filepath.Dir(name) == "internal/bmc" {
			r, _ := ruleOf(name)
			require.Equal(t, name, r.at, "%s has no rule of its own: say in rules_test.go what it may import", name)
		}
	}
}

// What only tests need stays out of the program, whatever else a rule allows.
func TestOnlyTestsImportWhatIsForTests(t *testing.T) {
	for path, p := range packages(t) {
		name, ours := strings.CutPrefix(path, module)
		if !ours || forTests(name) {
			continue
		}
		for _, i := range p.Imports {
			if dep, ours := strings.CutPrefix(i, module); ours && forTests(dep) {
				t.Errorf("%s imports %s, which is for tests", name, dep)
			}
		}
	}
	require.True(t, forTests("api/apitest"))
	require.True(t, forTests("internal/testenv"))
	require.False(t, forTests("test/soak"))
}

// forTests says whether a package exists for the tests of others.
func forTests(name string) bool { return strings.HasSuffix(name, "test") || name == "internal/testenv" }

func ruleOf(name string) (rule, bool) {
	var best rule
	for _, r := range rules {
		if below(name, r.at) && len(r.at) > len(best.at) {
			best = r
		}
	}
	return best, best.at != ""
}

func (r rule) allows(dep string) bool {
	if below(dep, r.at) {
		return true
	}
	if slices.ContainsFunc(r.not, func(at string) bool { return below(dep, at) }) {
		return false
	}
	if dep == "internal/jsonvalue" { // how JSON is decoded everywhere
		return true
	}
	return slices.ContainsFunc(r.ours, func(at string) bool { return at == "*" || below(dep, at) })
}

func (r rule) forbids(dep string, third bool) bool {
	return slices.ContainsFunc(r.never, func(n string) bool {
		return n == anyThirdParty && third || n != anyThirdParty && strings.HasPrefix(dep, n)
	})
}

// through names the import by which p reaches dep.
func through(all map[string]pkg, p pkg, dep string) string {
	for _, i := range p.Imports {
		if i != dep && slices.Contains(all[i].Deps, dep) {
			return " through " + i
		}
	}
	return ""
}

func below(name, at string) bool { return name == at || strings.HasPrefix(name, at+"/") }

// uses returns where the files of p use one of names of the package of.
func uses(t *testing.T, p pkg, of string, names []string) []string {
	t.Helper()
	var found []string
	for _, f := range p.GoFiles {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, f), nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == of && x.Obj == nil && slices.Contains(names, sel.Sel.Name) {
				found = append(found, fset.Position(sel.Pos()).String())
			}
			return true
		})
	}
	return found
}

// A rule that can't refuse anything would pass for ever.
func TestRulesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		from, dep string
		third     bool
		want      bool // allowed
	}{
		"workflows may call activities":            {from: "workflows", dep: "activities", want: true},
		"workflows may not know the store":         {from: "workflows", dep: "internal/store"},
		"workflows may not know a driver":          {from: "workflows", dep: "internal/bmc/redfish"},
		"steps may know what a BMC can do":         {from: "activities/conductor", dep: "internal/bmc", want: true},
		"orchestrators touch no BMC":               {from: "activities/orchestrator", dep: "internal/bmc"},
		"reconciliation runs no step":              {from: "activities/reconcile", dep: "activities/conductor"},
		"the api may not know workflows":           {from: "api", dep: "workflows"},
		"Ironic's resources use what is shared":    {from: "api/ironic", dep: "api/intent", want: true},
		"Ironic's resources know none of ours":     {from: "api/ironic", dep: "api/temper"},
		"the HTTP server knows no resource":        {from: "api/httpd", dep: "api/intent"},
		"formats know no server":                   {from: "api/format", dep: "api/httpd"},
		"the domain knows faults":                  {from: "internal/node", dep: "internal/fault", want: true},
		"the domain knows no store":                {from: "internal/node", dep: "internal/store"},
		"parts of the simulator know each other":   {from: "internal/sim/ipa", dep: "internal/sim/machine", want: true},
		"a worker knows drivers":                   {from: "worker", dep: "internal/bmc/redfish", want: true},
		"a worker knows no api":                    {from: "worker", dep: "api"},
		"nobody imports a main":                    {from: "worker", dep: "cmd/temper"},
		"the oracle knows nothing that it judges":  {from: "test/soak/oracle", dep: "internal/node"},
		"a path that only begins alike is another": {from: "activities", dep: "internal/nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := ruleOf(c.from)
			require.True(t, ok)
			require.Equal(t, c.want, r.allows(c.dep))
		})
	}
	r, _ := ruleOf("internal/node")
	require.True(t, r.forbids("example.com/x", true))
	require.False(t, r.forbids("fmt", false))
	r, _ = ruleOf("api")
	require.True(t, r.forbids("go.temporal.io/sdk/client", true))
}
