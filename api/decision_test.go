package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestADecisionIsAnsweredWhenTheWorkflowHasTakenIt(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.DeployHold)
	at := "/temper/v1/operations/1/decision"
	retry := map[string]any{"action": "retry", "reason": "the disk is in"}
	require.Contains(t, b.post(at, retry).fails(409), "decision")
	b.sql(`UPDATE operations SET phase = 'holding', steps = jsonb_set(steps, '{1,state}', '"failed"')`)
	require.Equal(t, []any{"retry", "abort"}, b.get("/temper/v1/operations/1").is(200)["choices"])

	for what, words := range map[string]string{
		"":     "Missing mandatory parameter: action",
		"undo": "is not valid, it is one of",
	} {
		body := map[string]any{}
		if what != "" {
			body["action"] = what
		}
		require.Contains(t, b.post(at, body).fails(400), words)
	}
	require.Empty(t, b.ops.toldWhat())

	b.ops.fail = fault.New(fault.Unavailable, "the workflow of operation 1 did not take the decision")
	require.Equal(t, "Resource temporarily unavailable, please retry. Temporal is away, or the workflow did not answer in time.", b.post(at, retry).fails(503))
	require.Equal(t, fault.TemporalUnavailable, b.last.refused(503).Code)
	b.ops.fail = fault.New(fault.Conflict, "a decision was taken already")
	require.Equal(t, "a decision was taken already", b.post(at, retry).fails(409))
	b.ops.fail = nil
	require.Equal(t, "1", b.post(at, retry).is(202)["id"])
	require.Equal(t, "1", b.last.header.Get("Temper-Operation"))
	require.Contains(t, b.ops.toldWhat(), "decide 1: retry by somebody without a name: the disk is in")
}
