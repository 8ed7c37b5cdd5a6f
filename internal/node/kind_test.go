package node_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
	"go.temper.dev/temper/internal/plan"
)

// constants returns the string constants of a file of this package whose names begin so.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			out[spec.Names[0].Name], err = strconv.Unquote(lit.Value)
			require.NoError(t, err)
		}
		return true
	})
	require.NotEmpty(t, out)
	return out
}

func TestEveryKindHasARow(t *testing.T) {
	for name, kind := range constants(t, "kind.go", "Kind") {
		require.Contains(t, Kinds(), OperationKind(kind), "%s has no row in the table of kinds", name)
	}
	workflows := map[string]bool{}
	for _, k := range KindSpecs() {
		require.Equal(t, k.Kind, k.Kind.Spec().Kind, "%s has two rows", k.Kind)
		require.NotEmpty(t, k.Workflow, "%s has no workflow", k.Kind)
		require.False(t, workflows[k.Workflow], "%s has the workflow of another kind", k.Kind)
		workflows[k.Workflow] = true
		require.Equal(t, 1, strings.Count(k.Refusal, "%s"), "%s: a refusal names the node", k.Kind)
		for _, i := range slices.Concat(k.Needs, k.AgentNeeds) {
			require.Contains(t, Interfaces, i, k.Kind)
		}
		require.Equal(t, k.Family != NoFamily, k.Agent != "", "%s: an agent is booted for the steps of a family, and for nothing else", k.Kind)
		if k.Agent != "" {
			require.Contains(t, Interfaces, k.Agent, k.Kind)
			require.Contains(t, Families, k.Family, k.Kind)
		}
		require.Equal(t, 1, marks(k.Kind.Provisions(), k.PowerChange, k.Management, k.Undoes), "%s: either a verb, a request for a power state or to an interface, or reconciliation opens it", k.Kind)
		require.False(t, k.AskedOnly && k.AskedSteps == "", "%s has only steps that a request names, and requests can name none", k.Kind)
		_, err := plan.Steps(k.Kind, nodetest.Fake(), nil, plan.Options{Vendor: VendorCall{Method: StepResetBMC}})
		require.NoError(t, err, "%s can't be planned", k.Kind)
	}
	for _, v := range Verbs {
		if v.Kind != "" {
			require.Equal(t, v.Event, v.Kind.Verb().Event, "%s opens a kind of another verb", v.Target)
		}
	}
}

func marks(set ...bool) (n int) {
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}

func TestEveryStepHasARow(t *testing.T) {
	known := map[string]bool{}
	for _, r := range StepRules() {
		require.False(t, known[r.Name()], "%s has two rows", r.Name())
		known[r.Name()] = true
		require.NotEmpty(t, r.Does, "%s: say what it does", r.Name())
		require.True(t, r.Interface != "" || !r.Core, "%s: a reserved step frames nothing", r.Name())
		if r.Interface != "" {
			require.Contains(t, Interfaces, r.Interface, r.Name())
			require.False(t, known[r.Step], "%s is a reserved name", r.Step)
		}
		require.False(t, r.Lasts && r.UndoesAll, "%s: what leaves the server as it should be must be done again", r.Name())
		require.False(t, r.SkipAsked && r.NoSkip == "", r.Name())
	}
	named := map[string]bool{}
	for _, r := range StepRules() {
		named[r.Step] = true
	}
	for name, step := range constants(t, "steprule.go", "Step") {
		require.True(t, named[step], "%s has no row in the table of steps", name)
	}
	for where, step := range OfferedSteps() {
		require.True(t, known[step.Name()], "%s offers %s, which has no row in the table of steps", where, step.Name())
	}
	rescues := nodetest.Uses("rescue", "agent")
	for _, n := range []*Node{
		nodetest.Redfish(rescues), nodetest.Fake(), nodetest.Redfish(nodetest.Uses("inspect", "agent"), rescues), nodetest.Fake(nodetest.Uses("deploy", "direct")),
		nodetest.Redfish(rescues, func(n *Node) { n.DisablePowerOff = true }),
	} {
		for _, k := range Kinds() {
			for _, p := range PowerTargets {
				steps, err := plan.Steps(k, n, nil, plan.Options{AutomatedClean: true, Power: p, Vendor: VendorCall{Method: StepResetBMC}})
				require.NoError(t, err, k)
				for _, s := range steps {
					require.True(t, known[s.Name()], "%s plans %s, which has no row in the table of steps", k, s.Name())
					require.Equal(t, s.Source == SourceCore, s.Rule().Core, "%s plans %s", k, s.Name())
				}
			}
		}
	}
}

func TestAStepOfTheAgentHasNotTheRulesOfACoreStepOfItsName(t *testing.T) {
	own := Step{Interface: "deploy", Step: StepTearDown, Source: SourceAgent}
	require.False(t, own.Rule().UndoesAll)
	require.Empty(t, own.Unskippable())
	own.Source = SourceCore
	require.True(t, own.Rule().UndoesAll)
	require.NotEmpty(t, own.Unskippable())
}
