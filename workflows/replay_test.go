package workflows_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// Histories of every kind of operation, recorded by `go run ./test/record`. Runs that are
// under way when the code changes must be able to go on.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.json")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			for _, k := range node.KindSpecs() {
				r.RegisterWorkflowWithOptions(workflows.Operate, workflow.RegisterOptions{Name: k.Workflow})
			}
			r.RegisterWorkflowWithOptions(workflows.Reconcile, workflow.RegisterOptions{Name: workflows.ReconcileType})
			r.RegisterWorkflowWithOptions(workflows.ReadBMC, workflow.RegisterOptions{Name: workflows.ReadType})
			raw, err := os.Open(f)
			require.NoError(t, err)
			defer raw.Close()
			history, err := client.HistoryFromJSON(raw, client.HistoryJSONOptions{})
			require.NoError(t, err)
			var o worker.ReplayWorkflowHistoryOptions
			if strings.HasSuffix(f, "-reset.json") { // the history has the id of the run that was reset, not of this one
				o.OriginalExecution = workflow.Execution{ID: "reset", RunID: "another one"}
			}
			require.NoError(t, r.ReplayWorkflowHistoryWithOptions(nil, history, o))
		})
		seen[f] = true
	}
	types := []string{workflows.ReadType}
	for _, k := range node.KindSpecs() {
		types = append(types, k.Workflow)
	}
	for _, name := range types {
		require.True(t, seen["testdata/histories/"+name+".json"], "no history of %s: run go run ./test/record", name)
	}
}
