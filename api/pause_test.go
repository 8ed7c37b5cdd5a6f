package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// pausedDeploy is a deploy that waits for its agent, and that ann has paused in Temporal.
func pausedDeploy(t *testing.T) (*bench, int64) {
	t.Helper()
	b := newBench(t).withConductors()
	b.in("n1", node.DeployWait)
	require.NoError(t, b.store.Reconciled(t.Context()))
	b.sql(`UPDATE operations SET waiting_for = 'the agent', waiting_until = now() + interval '10 minutes'`)
	n, err := b.store.Node(t.Context(), "n1")
	require.NoError(t, err)
	id := n.Operation.ID
	pause := node.Pause{What: node.PauseOfWorkflow, At: time.Now().Add(-time.Hour), By: "ann@desk", Reason: "let me look"}
	_, err = b.store.Direct(t.Context(), id, func(n *node.Node) (node.OperationChange, error) {
		require.True(t, n.Operation.PauseInTemporal(pause, time.Now()))
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
	b.ops.status = node.RunStatus{Known: true, Open: true, Pause: &pause}
	return b, id
}

func TestAnOperationThatIsPausedInTemporalSaysSoAndHowItGoesOn(t *testing.T) {
	b, id := pausedDeploy(t)
	o := b.get(fmt.Sprintf("/temper/v1/operations/%d", id)).is(200)
	require.Equal(t, "paused", o["state"])
	require.Regexp(t, `^paused in Temporal since .* UTC by ann@desk \(let me look\)$`, o["waiting_for"])
	require.Nil(t, o["waiting_until"], "it stands still")
	require.Equal(t, "ann@desk", o["temporal_pause"].(map[string]any)["by"])
	require.Len(t, b.get("/temper/v1/operations?state=paused").is(200)["operations"], 1)
	require.Empty(t, b.get("/temper/v1/operations?state=waiting").is(200)["operations"])

	unpause := fmt.Sprintf("temper operation unpause %d", id)
	why := b.get("/temper/v1/nodes/n1/why").is(200)
	require.Contains(t, why["commands"], unpause)
	require.Contains(t, why["text"], "(deploy) is paused since")
	require.Contains(t, why["text"], "It is paused in Temporal since")
	require.Nil(t, why["next_at"])
	recovery := b.post("/temper/v1/nodes/n1/recover", map[string]any{}).is(200)
	require.Contains(t, recovery["next"], unpause)
	require.Nil(t, recovery["done"], "it is alive")
	require.Equal(t, true, recovery["alive"])
	require.Contains(t, b.put("/v1/nodes/n1/states/power", map[string]any{"target": "power off"}).refused(409).commands(), unpause+" lets it go on")
	require.Contains(t, b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).refused(400).commands(), unpause+" lets it go on")
	require.Empty(t, b.ops.toldWhat())
}

func TestAnOperationIsUnpausedWithTheTimeItHadLeft(t *testing.T) {
	b, id := pausedDeploy(t)
	o := b.post(fmt.Sprintf("/temper/v1/operations/%d/unpause", id), map[string]any{"reason": "looked"}).is(202)
	require.Equal(t, []string{fmt.Sprintf("unpause %d by %s: looked", id, node.Anonymous), fmt.Sprintf("nudge %d: ", id)}, b.ops.toldWhat())
	require.Equal(t, "waiting", o["state"])
	require.Nil(t, o["temporal_pause"])
	until, err := time.Parse(time.RFC3339Nano, o["waiting_until"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(70*time.Minute), until, time.Minute)
	b.post(fmt.Sprintf("/temper/v1/operations/%d/unpause", id), nil).is(202)
	b.sql(`UPDATE nodes SET provision_state = 'deploy failed'; UPDATE operations SET phase = 'ended', outcome = 'failed', ended_at = now(), waiting_for = '', waiting_until = NULL, temporal_pause = NULL`)
	b.post(fmt.Sprintf("/temper/v1/operations/%d/unpause", id), nil).fails(409)
	b.post("/temper/v1/operations/999/unpause", nil).fails(404)
}

func TestWhatEndsAPausedOperationUnpausesIt(t *testing.T) {
	for name, ask := range map[string]func(b *bench, id int64){
		"abort": func(b *bench, _ int64) {
			b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "abort"}).is(http.StatusAccepted)
		},
		"deleted": func(b *bench, _ int64) {
			b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "deleted"}).is(http.StatusAccepted)
		},
		"cancel": func(b *bench, id int64) {
			b.post(fmt.Sprintf("/temper/v1/operations/%d/cancel", id), nil).is(http.StatusAccepted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, id := pausedDeploy(t)
			ask(b, id)
			told := b.ops.toldWhat()
			require.Len(t, told, 2)
			require.True(t, strings.HasPrefix(told[0], fmt.Sprintf("unpause %d by", id)), told[0])
		})
	}
}
