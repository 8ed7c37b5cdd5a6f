package help_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/testenv"
)

// An action that explanations and errors name has its row, and each row is of an action
// that one of them names.
func TestEveryActionHasARowAndIsNamedSomewhere(t *testing.T) {
	actions := testenv.Constants(t, "../fault/do.go", "Do")
	named := map[string]bool{}
	for _, folder := range []string{"../explain", "../fault", "../status", "../../api", "../../activities", "../../worker", "."} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "table.go" {
				return err
			}
			for _, name := range names(t, path) {
				named[name] = true
			}
			return nil
		}))
	}
	for name, do := range actions {
		require.Contains(t, help.Rows, fault.Do(do), "%s has no row in the table of actions", name)
		require.True(t, named[name], "no explanation and no error names %s", name)
	}
	require.Len(t, help.Rows, len(actions))
}

// names are the identifiers that a file uses in its functions and variables.
func names(t *testing.T, path string) (out []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.Ident:
			out = append(out, n.Name)
		}
		return true
	})
	return out
}

func TestEveryCommandIsOneOfTheCommandLine(t *testing.T) {
	n := &node.Node{UUID: "a-uuid", Name: "n1"}
	for do := range help.Rows {
		for _, a := range each(do) {
			words := strings.Fields(help.Command(n, a))
			require.Equal(t, "temper", words[0])
			role := &cobra.Command{Use: "conductor", Run: func(*cobra.Command, []string) {}} // that of cmd/temper
			role.Flags().String("name", "", "")
			role.Flags().String("config", "", "")
			role.Flags().String("conductor-group", "", "")
			role.Flags().String("enabled-drivers", "", "")
			role.AddCommand(cli.ConductorCommands()...)
			orchestrator := &cobra.Command{Use: "orchestrator", Run: func(*cobra.Command, []string) {}}
			orchestrator.Flags().String("config", "", "")
			bmc := &cobra.Command{Use: "bmc"} // that of cmd/temper, which has a test of its own for it
			probe := &cobra.Command{Use: "probe ADDRESS", Args: cobra.ExactArgs(1), Run: func(*cobra.Command, []string) {}}
			probe.Flags().String("username", "", "")
			bmc.AddCommand(probe)
			c, rest, err := cli.New(nil, cli.Group{ID: "roles", Commands: []*cobra.Command{role, orchestrator, bmc}}).Find(words[1:])
			require.NoError(t, err, words)
			require.True(t, c.Runnable() && c.HasParent() && (!c.HasSubCommands() || c == role), "%v is no whole command", words)
			require.NoError(t, c.ParseFlags(rest), words)
			require.NoError(t, c.ValidateArgs(c.Flags().Args()), words)
		}
	}
}

// each are the ways in which something can be done.
func each(do fault.Do) (out []help.Action) {
	switch do {
	case fault.Decide:
		for _, d := range node.Actions {
			out = append(out, help.Action{Do: do, Operation: 12, Decision: d})
		}
	case fault.ChangeState:
		for _, v := range node.Verbs {
			if v.Kind != "" {
				out = append(out, help.Action{Do: do, Event: v.Event})
			}
		}
	case fault.DeployImage, fault.DeployToDisk:
		out = append(out, help.Action{Do: do, Event: node.EventDeploy}, help.Action{Do: do, Event: node.EventRebuild})
	case fault.StartConductor:
		out = append(out, help.Action{Do: do, Conductor: "c1"}, help.Action{Do: do, Group: "b", Drivers: "ipmi,redfish", Settings: "/etc/temper.yaml"})
	case fault.ListNeedy:
		out = append(out, help.Action{Do: do, Reason: node.ReasonLate}, help.Action{Do: do, Reason: node.ReasonFailed, Cause: fault.BMCSilent})
	case fault.StartOrchestrator:
		out = append(out, help.Action{Do: do, Settings: "/etc/temper.yaml"})
	default:
		out = append(out, help.Action{Do: do, Operation: 12, Conductor: "c1", Webhook: "chat"})
	}
	return out
}

func TestAnItemSaysTheSameInThreeWays(t *testing.T) {
	n := &node.Node{UUID: "a-uuid"}
	require.Equal(t, help.Item{
		Command: "temper node undeploy a-uuid", Effect: "makes it available", Method: "POST", Path: "/temper/v1/nodes/a-uuid/operations", Body: map[string]any{"verb": "deleted"},
	}, help.Of(n, help.Action{Do: fault.ChangeState, Event: node.EventDelete}))
	require.Equal(t, help.Item{
		Command: "temper operation skip 12", Effect: "leaves the failed step out", Method: "POST", Path: "/temper/v1/operations/12/decision", Body: map[string]any{"action": node.ActionSkip},
	}, help.Of(nil, help.Action{Do: fault.Decide, Operation: 12, Decision: node.ActionSkip}))
	require.Equal(t, `temper node set a-uuid --conductor-group ""`, help.Command(n, help.Action{Do: fault.ChangeGroup}))
	require.Equal(t, `"temper operation recover --lost-temporal --reason WHY" confirms that Temporal has lost its data`, help.Of(nil, explain.LostSpeedup).Sentence())
	n.Name = strings.Repeat("n", 65)
	require.Equal(t, "temper node why a-uuid", help.Command(n, help.Action{Do: fault.ExplainNode}), "a long name")
}

// Hints in properties have no effect where instance_info has some.
func TestRootDeviceHintsAreSetWhereTheyCount(t *testing.T) {
	hints := map[string]any{"root_device": map[string]any{"serial": "X"}}
	for name, c := range map[string]struct {
		n           *node.Node
		flag, field string
	}{
		"none":             {&node.Node{Name: "n1"}, "--property", "properties"},
		"in properties":    {&node.Node{Name: "n1", Properties: hints}, "--property", "properties"},
		"in instance_info": {&node.Node{Name: "n1", Properties: hints, InstanceInfo: hints}, "--instance-info", "instance_info"},
	} {
		item := help.Of(c.n, help.Action{Do: fault.SetRootDevice})
		require.Equal(t, `temper node set n1 `+c.flag+` 'root_device={"serial": "SERIAL"}'`, item.Command, name)
		require.Contains(t, fmt.Sprint(item.Body), "/"+c.field+"/root_device", name)
	}
}

// Where no conductor is known, there is none that "it" could be.
func TestStartingAConductorSaysWhatAndWhere(t *testing.T) {
	known := help.Of(nil, help.Action{Do: fault.StartConductor, Conductor: "c1", Drivers: "ipmi"})
	require.Equal(t, `"temper conductor --name c1 --enabled-drivers ipmi" starts it, on its host`, known.Sentence())
	unknown := help.Of(nil, help.Action{Do: fault.StartConductor, Drivers: "ipmi"})
	require.Equal(t, `"temper conductor --enabled-drivers ipmi" starts a conductor for that group and driver, on a host that reaches the BMCs, PostgreSQL and Temporal`, unknown.Sentence())
}
