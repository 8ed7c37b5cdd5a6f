package workflows_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// Histories of every kind of operation, recorded by `go run ./test/record`. Runs that are
// under way when the code changes must be able to go on.
func TestRecordedHistoriesReplay(t *testing.T) { replay(t) }

// No word of Temper's is part of a history: each sentence can be changed while operations run.
func TestRecordedHistoriesReplayWithOtherWords(t *testing.T) {
	rows, codes := maps.Clone(finding.Rows), slices.Clone(fault.Codes)
	t.Cleanup(func() { finding.Rows, fault.Codes = rows, codes })
	finding.Rows, fault.Codes = maps.Clone(rows), slices.Clone(codes)
	for code, row := range finding.Rows {
		row.Words = "other words for " + row.Words
		finding.Rows[code] = row
	}
	for i := range fault.Codes {
		c := &fault.Codes[i]
		c.Meaning, c.Advise, c.Then = "Another meaning.", "Do something else.", ""
	}
	replay(t)
}

func replay(t *testing.T) {
	t.Helper()
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
