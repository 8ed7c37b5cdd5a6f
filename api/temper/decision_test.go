package temper_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestADecisionIsAnsweredWhenTheWorkflowHasTakenIt(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployHold)
	at := "/temper/v1/operations/1/decision"
	retry := map[string]any{"action": "retry", "reason": "the disk is in"}
	require.Contains(t, b.Post(at, retry).Fails(409), "decision")
	b.SQL(`UPDATE operations SET phase = 'holding', steps = jsonb_set(steps, '{1,state}', '"failed"')`)
	require.Equal(t, []any{"retry", "abort"}, b.Get("/temper/v1/operations/1").Is(200)["choices"])

	for what, words := range map[string]string{
		"":     "Missing mandatory parameter: action",
		"undo": "is not valid, it is one of",
	} {
		body := map[string]any{}
		if what != "" {
			body["action"] = what
		}
		require.Contains(t, b.Post(at, body).Fails(400), words)
	}
	require.Empty(t, b.Operations.Told())

	b.Operations.Err = fault.New(fault.Unavailable, "the workflow of operation 1 did not take the decision")
	require.Equal(t, "Resource temporarily unavailable, please retry. "+fault.DecisionUnconfirmed.Meaning(), b.Post(at, retry).Fails(503))
	require.LessOrEqual(t, b.Operations.Within, 5*time.Second)
	require.Equal(t, fault.DecisionUnconfirmed, b.Last.Refused(503).Code)
	b.Operations.Err = fault.New(fault.Conflict, "a decision was taken already")
	require.Equal(t, "a decision was taken already", b.Post(at, retry).Fails(409))
	b.Operations.Err = nil
	require.Equal(t, "1", b.Post(at, retry).Is(202)["id"])
	require.Equal(t, "1", b.Last.Header.Get("Temper-Operation"))
	require.Contains(t, b.Operations.Told(), "decide 1: retry by anonymous: the disk is in")
}
