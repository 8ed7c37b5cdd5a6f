package temper_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// pausedDeploy makes a deploy that waits for its agent and that ann has paused in Temporal.
func pausedDeploy(t *testing.T) (*apitest.Bench, int64) {
	t.Helper()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployWait)
	require.NoError(t, b.Store.Reconciled(t.Context()))
	b.SQL(`UPDATE operations SET waiting_for = 'the agent', waiting_until = now() + interval '10 minutes'`)
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	id := n.Operation.ID
	pause := node.Pause{What: node.PauseOfWorkflow, At: time.Now().Add(-time.Hour), By: "ann@desk", Reason: "let me look"}
	_, err = b.Store.Direct(t.Context(), id, func(n *node.Node) (node.OperationChange, error) {
		require.True(t, n.Operation.PauseInTemporal(pause, time.Now()))
		return node.OperationChange{}, nil
	})
	require.NoError(t, err)
	b.Operations.Run = node.RunStatus{Known: true, Open: true, Pause: &pause}
	return b, id
}

func TestAnOperationThatIsPausedInTemporalSaysSoAndHowItGoesOn(t *testing.T) {
	t.Parallel()
	b, id := pausedDeploy(t)
	o := b.Get(fmt.Sprintf("/temper/v1/operations/%d", id)).Is(200)
	require.Equal(t, "paused", o["state"])
	require.Regexp(t, `^paused in Temporal since .*Z by ann@desk \(let me look\)$`, o["waiting_for"])
	require.Nil(t, o["waiting_until"], "it stands still")
	require.Equal(t, "ann@desk", o["temporal_pause"].(map[string]any)["by"])
	require.Len(t, b.Get("/temper/v1/operations?state=paused").Is(200)["operations"], 1)
	require.Empty(t, b.Get("/temper/v1/operations?state=waiting").Is(200)["operations"])

	unpause := fmt.Sprintf("temper operation unpause %d", id)
	why := b.Get("/temper/v1/nodes/n1/why").Is(200)
	require.Contains(t, why["commands"], unpause)
	require.Contains(t, why["text"], "(deploy) is paused since")
	require.Contains(t, why["text"], "It is paused in Temporal since")
	require.Nil(t, why["next_at"])
	recovery := b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)
	require.Contains(t, recovery["next"], unpause)
	require.Nil(t, recovery["done"], "it is alive")
	require.Equal(t, true, recovery["alive"])
	require.Contains(t, b.Put("/v1/nodes/n1/states/power", map[string]any{"target": "power off"}).Refused(409).Commands(), unpause+" lets it go on")
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Refused(400).Commands(), unpause+" lets it go on")
	require.Empty(t, b.Operations.Told())
}

func TestAnOperationIsUnpausedWithTheTimeItHadLeft(t *testing.T) {
	t.Parallel()
	b, id := pausedDeploy(t)
	o := b.Post(fmt.Sprintf("/temper/v1/operations/%d/unpause", id), map[string]any{"reason": "looked"}).Is(202)
	require.Equal(t, []string{fmt.Sprintf("unpause %d by %s: looked", id, node.Anonymous), fmt.Sprintf("nudge %d: ", id)}, b.Operations.Told())
	require.Equal(t, "waiting", o["state"])
	require.Nil(t, o["temporal_pause"])
	until, err := time.Parse(time.RFC3339Nano, o["waiting_until"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(70*time.Minute), until, time.Minute)
	b.Post(fmt.Sprintf("/temper/v1/operations/%d/unpause", id), nil).Is(202)
	b.SQL(`UPDATE nodes SET provision_state = 'deploy failed'; UPDATE operations SET phase = 'ended', outcome = 'failed', ended_at = now(), waiting_for = '', waiting_until = NULL, temporal_pause = NULL`)
	b.Post(fmt.Sprintf("/temper/v1/operations/%d/unpause", id), nil).Fails(409)
	b.Post("/temper/v1/operations/999/unpause", nil).Fails(404)
}

func TestWhatEndsAPausedOperationUnpausesIt(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(b *apitest.Bench, id int64){
		"abort": func(b *apitest.Bench, _ int64) {
			b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "abort"}).Is(http.StatusAccepted)
		},
		"deleted": func(b *apitest.Bench, _ int64) {
			b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "deleted"}).Is(http.StatusAccepted)
		},
		"cancel": func(b *apitest.Bench, id int64) {
			b.Post(fmt.Sprintf("/temper/v1/operations/%d/cancel", id), nil).Is(http.StatusAccepted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, id := pausedDeploy(t)
			ask(b, id)
			told := b.Operations.Told()
			require.Len(t, told, 2)
			require.True(t, strings.HasPrefix(told[0], fmt.Sprintf("unpause %d by", id)), told[0])
		})
	}
}
