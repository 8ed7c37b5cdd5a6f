package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
)

// Ironic's clients look for "aborted"; people read one word, and who it was.
func TestWhoHasCancelledAnOperationIsTold(t *testing.T) {
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Outcome: node.Cancelled, AskedBy: "ada", AskedReason: "wrong image", Error: "By request, the deploy operation was aborted"}
	require.Equal(t, "cancelled by ada (wrong image)", finding.OperationError(o))
	o.Error += node.UndoLeft + "no answer"
	require.Equal(t, "cancelled by ada (wrong image)"+node.UndoLeft+"no answer", finding.OperationError(o))

	n := &node.Node{Name: "n1", ProvisionState: node.DeployFailed, LastError: "By request, the deploy operation was aborted"}
	e := Node(n, Facts{Now: time.Now(), Covered: true, Previous: o})
	require.Contains(t, e.Paragraph(nil), "Node n1 is deploy failed, nobody holds it: cancelled by ada (wrong image)")
	n.LastError = "Inspection was aborted by request."
	e = Node(n, Facts{Now: time.Now(), Covered: true})
	require.Contains(t, e.Paragraph(nil), "nobody holds it: cancelled by request.")

	o.Decisions = []node.DecisionRecord{{Action: node.ActionAbort, By: "bob"}}
	require.Contains(t, finding.OperationError(o), "cancelled by bob;")
	failed := &node.Operation{Outcome: node.Failed, Error: "no disk"}
	require.Equal(t, "no disk", finding.OperationError(failed))
}
