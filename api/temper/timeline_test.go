package temper_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestTheTimelineOfAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	id := b.Post(work, map[string]any{"verb": "active"}).Is(202)["id"].(string)
	path := "/temper/v1/operations/" + id + "/timeline"
	number, err := strconv.ParseInt(id, 10, 64)
	require.NoError(t, err)
	require.Len(t, b.Get(path).Is(200)["timeline"], 1)

	o, err := b.Store.Begin(t.Context(), number, b.Get("/temper/v1/operations/" + id).Is(200)["workflow_id"].(string), "r")
	require.NoError(t, err)
	began := time.Now().UTC()
	o.Steps[0].State, o.Steps[0].StartedAt = node.StepRunning, &began
	for i, by := range []string{"c1", "c2"} {
		c := node.Claim{Seq: 1, Attempt: int32(i + 1)}
		_, err := b.Store.Claim(t.Context(), number, "r", c, time.Time{}, by)
		require.NoError(t, err)
		_, err = b.Store.SaveSteps(t.Context(), number, c, node.Progress{Phase: node.Running, Steps: o.Steps})
		require.NoError(t, err)
	}
	_, err = b.Store.CloseOperation(t.Context(), node.End{Operation: number, RunID: "r", Outcome: node.Failed, Error: "no disk"})
	require.NoError(t, err)

	out := b.Get(path).Is(200)
	require.Equal(t, id, out["operation"])
	var what []string
	for _, m := range out["timeline"].([]any) {
		if m := m.(map[string]any); m["what"] != "step" {
			what = append(what, fmt.Sprint(m["what"], " ", m["former"], " ", m["conductor"]))
		}
	}
	require.Equal(t, []string{"accepted <nil> <nil>", "taken up <nil> c1", "taken over c1 c2", "ended <nil> <nil>"}, what)
	require.Contains(t, string(b.Last.Body), "took step deploy.prepare over from c1, ")
	require.Contains(t, string(b.Last.Body), "deploy failed after ")

	b.Get("/temper/v1/nodes/n1/history").Is(200)
	history := string(b.Last.Body)
	require.Contains(t, history, "conductor c2 took step deploy.prepare over from c1")
	require.Contains(t, history, `"operation":"`+id+`"`)
	b.Get("/temper/v1/operations/4711/timeline").Fails(404)
	b.Get("/temper/v1/operations/x/timeline").Fails(404)
	b.Get(path + "?limit=1").Fails(400)
}
