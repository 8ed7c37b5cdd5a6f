package temper_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) {
		c.WorkflowURL = func(o *node.Operation) string { return "http://ui/" + strconv.FormatInt(o.ID, 10) }
	}).WithConductors()
	var ids []string
	for i := range 5 {
		name := fmt.Sprintf("n%d", i)
		b.Enrolled(name)
		ids = append(ids, b.Put("/v1/nodes/"+name+"/states/provision", apitest.ProvisionBody("manage")).Header.Get("Temper-Operation"))
	}
	b.Put("/v1/nodes/"+b.In("p", node.Active)+"/states/power", map[string]any{"target": "power on"}).Is(202)
	b.In("d", node.DeployWait)

	count := func(query string) int {
		return len(b.Get("/temper/v1/operations" + query).Is(200)["operations"].([]any))
	}
	require.Equal(t, 7, count(""))
	require.Equal(t, 5, count("?kind=manage"))
	require.Equal(t, 1, count("?state=waiting"))
	require.Equal(t, 1, count("?node=n3"))
	require.Equal(t, 0, count("?state=ended"))
	require.Equal(t, 0, count("?conductor=c9"))
	require.Equal(t, 7, count("?since=2020-01-02T15:04:05%2B01:00"))
	require.Equal(t, 0, count("?since=2099-01-02T15:04:05Z"))
	page := b.Get("/temper/v1/operations?kind=manage&limit=2").Is(200)
	require.Len(t, page["operations"], 2)
	require.Equal(t, ids[4], page["operations"].([]any)[0].(map[string]any)["id"], "newest first")
	second := b.Get(strings.TrimPrefix(page["next"].(string), "http://temper.test:6385")).Is(200)
	require.Equal(t, ids[2], second["operations"].([]any)[0].(map[string]any)["id"])
	require.Nil(t, b.Get("/temper/v1/operations").Is(200)["next"])

	one := b.Get("/temper/v1/operations/" + ids[0]).Is(200)
	require.Subset(t, slices.Collect(maps.Keys(one)), []string{
		"id", "node_uuid", "node_name", "kind", "state", "outcome", "error", "requested_by", "accepted_at", "begun_at", "ended_at",
		"workflow_id", "run_id", "conductor", "waiting_for", "waiting_until", "retry_of", "steps",
	})
	require.Equal(t, "n0", one["node_name"])
	require.Subset(t, slices.Collect(maps.Keys(one["steps"].([]any)[0].(map[string]any))), []string{
		"index", "interface", "step", "state", "attempts", "conductor", "started_at", "ended_at", "last_error",
	})
	for query, status := range map[string]int{
		"?kind=odd": 400, "?state=odd": 400, "?limit=0": 400, "?marker=x": 400, "?odd=1": 400, "?since=yesterday": 400, "/odd": 404, "/999999": 404, "?node=nosuch": 404, "?node=a%20b": 400,
	} {
		b.Get("/temper/v1/operations" + query).Fails(status)
	}
	story := b.Field("d", "driver_internal_info").(map[string]any)
	require.Equal(t, map[string]any{
		"operation": strconv.Itoa(7), "kind": "deploy", "state": "waiting", "step": "deploy.write_image", "attempt": 2.0,
		"last_error": "agent busy", "waiting_for": nil, "gives_up_at": nil, "workflow_url": "http://ui/7",
	}, story["temper"])
	require.EqualValues(t, 0, story["deploy_step_index"])
	require.Len(t, story["deploy_steps"], 2)
	require.Equal(t, "write_image", b.Field("d", "deploy_step").(map[string]any)["step"])
}

func TestCancelOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	id := b.Put("/v1/nodes/n1/states/provision", apitest.ProvisionBody("manage")).Header.Get("Temper-Operation")
	path := "/temper/v1/operations/" + id + "/cancel"
	b.Post(path, map[string]any{"why": "x"}).Fails(400)
	b.Post(path, map[string]any{"reason": 1}).Fails(400)
	body := b.Post(path, map[string]any{"reason": "wrong node"}).Is(202)
	require.Equal(t, []any{"cancel", "wrong node"}, []any{body["asked"], body["asked_reason"]})
	require.Equal(t, []string{"cancel " + id + ": wrong node"}, b.Operations.Told())
	b.Post(path, nil).Is(202)
	b.SQL(`UPDATE operations SET phase = 'ended', outcome = 'cancelled', ended_at = now()`)
	b.Post(path, nil).Fails(409)
	b.Post("/temper/v1/operations/999999/cancel", nil).Fails(404)
	b.Post("/temper/v1/operations/odd/cancel", nil).Fails(404)
}

// An operation that no workflow has begun has touched nothing, so that neither Temporal nor an orchestrator has to answer to end it. Its id may
// even belong to a workflow of somebody else.
func TestWhatNoWorkflowHasBegunEndsInTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(b *apitest.Bench, id string){
		"cancelled": func(b *apitest.Bench, id string) {
			require.Equal(t, "ended", b.Post("/temper/v1/operations/"+id+"/cancel", nil).Is(202)["state"])
		},
		"aborted": func(b *apitest.Bench, _ string) {
			b.Put("/v1/nodes/n1/states/provision", apitest.ProvisionBody("abort")).Is(202)
		},
		"deleted": func(b *apitest.Bench, _ string) {
			b.Put("/v1/nodes/n1/states/provision", apitest.ProvisionBody("deleted")).Is(202)
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := apitest.New(t).WithConductors()
			b.In("n1", node.Deploying)
			o := b.LastOperation("n1")
			b.SQL(`UPDATE operations SET phase = 'accepted', begun_at = NULL, run_id = NULL, conductor = '', accepted_at = accepted_at - interval '6 seconds'`)
			b.Operations.Newest = &node.RunStatus{Foreign: `workflow w of type "T" on task queue "q"`}
			why := b.Get("/temper/v1/nodes/n1/why").Is(200)["text"].(string)
			require.Contains(t, why, `is taken by a workflow of somebody else (workflow w of type "T" on task queue "q")`)
			id := strconv.FormatInt(o.ID, 10)
			require.Contains(t, why, "temper operation cancel "+id)
			end(b, id)
			ended := b.Get("/temper/v1/operations/" + id).Is(200)
			require.Equal(t, []any{"ended", "cancelled"}, []any{ended["state"], ended["outcome"]})
			if what == "deleted" {
				require.Equal(t, node.KindUndeploy, b.LastOperation("n1").Kind)
				return
			}
			require.Equal(t, "deploy failed", b.Field("n1", "provision_state"))
			require.Nil(t, b.Field("n1", "reservation"))
		})
	}
}

// The filter state accepts outcomes, too, because people see the outcome of an ended operation where they see the state of an
// open one.
func TestOperationsAreListedByHowTheyEnded(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	ended := func(outcome string) {
		b.SQL(`INSERT INTO operations (node_uuid, kind, phase, outcome, origin, conductor_group, driver, steps, ended_at)
			VALUES (gen_random_uuid(), 'deploy', 'ended', '` + outcome + `', 'available', '', 'fake-hardware', '[]', now())`)
	}
	for _, o := range []string{"succeeded", "failed", "failed", "cancelled"} {
		ended(o)
	}
	for query, want := range map[string]int{
		"state=failed": 2, "state=succeeded": 1, "state=cancelled": 1, "state=ended": 4, "outcome=failed": 2, "outcome=cancelled": 1,
		"state=ended&outcome=failed": 2, "state=failed&outcome=failed": 2, "state=running&outcome=failed": 0, "state=failed&kind=clean": 0,
	} {
		require.Len(t, b.Get("/temper/v1/operations?" + query).Is(200)["operations"], want, query)
	}
	b.SQL(`UPDATE operations SET error = 'a BMC', cause = 'bmc_silent' WHERE id = (SELECT max(id) FROM operations WHERE outcome = 'failed');
		UPDATE operations SET error = 'by request', cause = 'cancelled' WHERE outcome = 'cancelled'`)
	for query, want := range map[string]int{"cause=bmc_silent": 1, "cause=cancelled&outcome=cancelled": 1, "cause=bmc_silent&state=succeeded": 0, "cause=no_conductor": 0} {
		require.Len(t, b.Get("/temper/v1/operations?" + query).Is(200)["operations"], want, query)
	}
	silent := b.Get("/temper/v1/operations?cause=bmc_silent").Is(200)["operations"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"a BMC", "bmc_silent"}, []any{silent["error"], silent["cause"]})
	for _, query := range []string{"outcome=ended", "state=nonsense", "cause=node_locked", "cause=nonsense"} {
		b.Get("/temper/v1/operations?" + query).Fails(400)
	}
	require.Equal(t, `State "failed" and outcome "succeeded" exclude each other`, b.Get("/temper/v1/operations?state=failed&outcome=succeeded").Fails(400))
}

// Nobody looks after a step while Temporal is away. Whoever watches its operation is told so within seconds, not when it is late.
func TestAnOperationTellsThatTemporalIsAway(t *testing.T) {
	t.Parallel()
	var away status.Dependencies
	b := apitest.New(t, func(c *api.Config) { c.Ask = func(context.Context) status.Dependencies { return away } }).WithConductors()
	b.In("n1", node.Deploying)
	path := fmt.Sprint("/temper/v1/operations/", b.LastOperation("n1").ID)
	waits := func(looked time.Duration) any {
		w := node.Wait{For: node.WaitPower, Subject: "power on", Since: time.Now().Add(-time.Minute), Every: time.Second}
		w.Saw("Off", time.Now().Add(-looked))
		b.SQL("UPDATE operations SET step_wait = $1", w)
		return b.Get(path).Is(200)["step_wait"].(map[string]any)["sentence"]
	}
	require.NoError(t, b.Store.Reconciled(t.Context()))
	away.Temporal = status.Answer{Trouble: status.TemporalAway, Since: time.Now().Add(-time.Minute)}
	b.SQL("UPDATE witness SET contact_at = contact_at - interval '1 minute'")
	require.Contains(t, waits(0), "; looked at again every 1s")
	require.Contains(t, waits(30*time.Second), ": conductor c1 has to, and Temporal does not answer")
	away.Temporal = status.Answer{}
	require.Contains(t, waits(30*time.Second), "; looked at again every 1s")
}
