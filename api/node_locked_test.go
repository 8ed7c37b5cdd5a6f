package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// patient is an API whose requests wait for short operations for longer than any test takes.
type patient struct {
	*apitest.Bench
	metrics *prometheus.Registry
}

func newPatient(t *testing.T, on *apitest.Bench) *patient {
	p := &patient{metrics: prometheus.NewRegistry()}
	change := func(c *api.Config) {
		c.NodeLockedWait, c.RequestTimeout, c.Metrics = 5*time.Minute, 5*time.Minute, p.metrics
	}
	if on == nil {
		p.Bench = apitest.New(t, change).WithConductors()
	} else {
		p.Bench = on.Another(change)
	}
	return p
}

// waiters are the requests that wait now.
func (p *patient) waiters() (n float64) {
	families, err := p.metrics.Gather()
	require.NoError(p.T, err)
	for _, f := range families {
		if f.GetName() == "temper_node_locked_waiters" {
			n = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return n
}

func (p *patient) untilWaiting(n int) {
	p.T.Helper()
	require.Eventually(p.T, func() bool { return p.waiters() == float64(n) }, time.Minute, 5*time.Millisecond)
}

// send sends a request in the background, and gives its answer.
func (p *patient) send(ctx context.Context, method, path string, body any) <-chan *apitest.Answer {
	raw, err := json.Marshal(body)
	require.NoError(p.T, err)
	r := httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(raw))
	r.Header.Set(apitest.VersionHeader, "1."+strconv.Itoa(apitest.Newest))
	out := make(chan *apitest.Answer, 1)
	go func() { out <- p.Serve(r) }()
	return out
}

// end ends the open operation of a node as its workflow would.
func (p *patient) end(ident string) {
	p.T.Helper()
	o := p.LastOperation(ident)
	require.Nil(p.T, o.EndedAt)
	_, err := p.Store.CloseOperation(context.Background(), node.End{Operation: o.ID, Outcome: node.Succeeded})
	require.NoError(p.T, err)
}

func (p *patient) power(ident, target string) {
	p.T.Helper()
	p.Put("/v1/nodes/"+ident+"/states/power", map[string]any{"target": target}).Is(202)
}

func target(word string) map[string]any { return map[string]any{"target": word} }

func TestPowerRequestsBackToBackAreAllAccepted(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	p.In("n1", node.Active)
	p.power("n1", "power on")
	for i := range 19 {
		word := []string{"power off", "power on"}[i%2]
		answer := p.send(t.Context(), "PUT", "/v1/nodes/n1/states/power", target(word))
		p.untilWaiting(1)
		p.end("n1")
		(<-answer).Is(202)
	}
	require.Len(t, p.Operations.Started(), 20)
}

// What Ironic's clients do right after they have changed the power: each request waits until that is over.
func TestRequestsRightAfterAPowerRequestAreAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in           node.State
		method, path string
		body         any
		status       int
	}{
		"deploy":            {node.Available, "PUT", "/v1/nodes/n1/states/provision", target("active"), 202},
		"manage":            {node.Available, "PUT", "/v1/nodes/n1/states/provision", target("manage"), 202},
		"undeploy":          {node.Active, "PUT", "/v1/nodes/n1/states/provision", target("deleted"), 202},
		"PATCH driver_info": {node.Available, "PATCH", "/v1/nodes/n1", []apitest.Op{apitest.Add("/driver_info/x", "y")}, 200},
		"DELETE":            {node.Available, "DELETE", "/v1/nodes/n1", nil, 204},
		"allocation":        {node.Available, "POST", "/v1/allocations", map[string]any{"resource_class": "gold"}, 201},
		"allocation by name": {
			node.Available, "POST", "/v1/allocations",
			map[string]any{"resource_class": "gold", "candidate_nodes": []string{"n1"}},
			201,
		},
		"allocation deleted": {node.Available, "DELETE", "/v1/nodes/n1/allocation", nil, 204},
		"backfill":           {node.Active, "POST", "/v1/allocations", map[string]any{"node": "n1", "resource_class": "gold"}, 201},
		"operation":          {node.Available, "POST", "/temper/v1/nodes/n1/operations", map[string]any{"verb": "active", "idempotency_key": "k"}, 202},
		"port":               {node.Manageable, "PATCH", "/v1/ports/11111111-1111-4111-8111-111111111111", []apitest.Op{apitest.Replace("/address", "52:54:00:00:00:02")}, 200},
		"port group":         {node.Manageable, "PATCH", "/v1/portgroups/55555555-5555-4555-8555-555555555555", []apitest.Op{apitest.Replace("/address", "52:54:00:00:00:03")}, 200},
		"volume":             {node.Manageable, "DELETE", "/v1/volume/connectors/66666666-6666-4666-8666-666666666666", nil, 204},
		"boot device":        {node.Active, "PUT", "/v1/nodes/n1/management/boot_device", map[string]any{"boot_device": "pxe"}, 204},
		"another power":      {node.Active, "PUT", "/v1/nodes/n1/states/power", target("power off"), 202},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t, nil)
			uuid := p.In("n1", c.in)
			p.SQL(`UPDATE nodes SET resource_class = 'gold', power_state = 'power off' WHERE uuid = $1`, uuid)
			p.Post("/v1/ports", map[string]any{"uuid": "11111111-1111-4111-8111-111111111111", "node_uuid": uuid, "address": "52:54:00:00:00:01"}).Is(201)
			p.Post("/v1/portgroups", map[string]any{"uuid": "55555555-5555-4555-8555-555555555555", "node_uuid": uuid, "address": "52:54:00:00:00:04"}).Is(201)
			p.Post("/v1/volume/connectors", map[string]any{"uuid": "66666666-6666-4666-8666-666666666666", "node_uuid": uuid, "type": "iqn", "connector_id": "c1"}).Is(201)
			p.Operations.OnAwait = func(o *node.Operation) {
				_, _ = p.Store.CloseOperation(context.Background(), node.End{Operation: o.ID, Outcome: node.Succeeded})
			}
			if c.path == "/v1/nodes/n1/allocation" {
				p.Post("/v1/allocations", map[string]any{"resource_class": "gold"}).Is(201)
			}
			word := "power on"
			if name == "volume" { // it can be changed only when the server is off
				word = "power off"
			}
			p.power("n1", word)
			answer := p.send(t.Context(), c.method, c.path, c.body)
			p.untilWaiting(1)
			p.end("n1")
			a := <-answer
			a.Is(c.status)
			if c.path == "/v1/allocations" {
				require.Equal(t, "active", a.Header.Get("Temper-Allocation"))
			}
			require.Zero(t, p.waiters())
		})
	}
}

// Whatever the end of the operation does not change is refused at once, and so is what meets a long operation.
func TestOnlyAShortLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	other := p.In("n2", node.Active)
	taken := "22222222-2222-4222-8222-222222222222"
	p.SQL(`UPDATE nodes SET instance_uuid = $2 WHERE uuid = $1`, other, taken)
	uuid := p.In("n1", node.Available)
	p.power("n1", "power on")
	states := "/v1/nodes/n1/states/provision"
	require.Contains(t, p.Put(states, target("rebuild")).Fails(400), "can not be performed")
	p.Put(states, map[string]any{"target": "active", "clean_steps": []any{map[string]any{}}}).Fails(400)
	require.Contains(t, p.Patch("/v1/nodes/n1", apitest.Replace("/driver", "nonesuch")).Fails(400), "nonesuch")
	require.Contains(t, p.Patch("/v1/nodes/n1", apitest.Add("/instance_uuid", taken)).Fails(409), "already associated with another node")
	p.SQL(`UPDATE nodes SET instance_uuid = '33333333-3333-4333-8333-333333333333' WHERE uuid = $1`, uuid)
	require.Contains(t, p.Patch("/v1/nodes/n1", apitest.Add("/instance_uuid", taken)).Fails(409), "is associated with instance")
	require.Contains(t, p.Delete("/v1/nodes/n1").Fails(409), "is associated with instance")
	p.power("n1", "power on") // joined

	// What does not need the lock never waits for it. Nova takes any 409 of this for "attached already".
	p.Post("/v1/nodes/n1/vifs", map[string]any{"id": "44444444-4444-4444-8444-444444444444"}).Is(204)
	p.Put("/v1/nodes/n1/traits/CUSTOM_X", nil).Is(204)
	p.Put("/v1/nodes/n1/maintenance", map[string]any{}).Is(202)
	p.Patch("/v1/nodes/n1", apitest.Add("/extra/x", 1)).Is(200)

	p.In("n3", node.Deploying)
	p.Put("/v1/nodes/n3/states/power", target("power on")).Fails(409)
	p.Put("/v1/nodes/n3/states/provision", target("active")).Fails(409)
	p.Delete("/v1/nodes/n3").Fails(409)
	p.Post("/v1/allocations", map[string]any{"resource_class": "gold"}).Is(201)
	require.Equal(t, "error", p.Last.Header.Get("Temper-Allocation"))
	require.Zero(t, p.waiters())
}

func TestAnOperationThatIsAboutToCloseIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	p.In("n1", node.Cleaning)
	p.SQL(`UPDATE operations SET steps = (SELECT jsonb_agg(s || '{"state":"done"}') FROM jsonb_array_elements(steps) s)`)
	answer := p.send(t.Context(), "PUT", "/v1/nodes/n1/states/provision", target("active"))
	p.untilWaiting(1)
	_, err := p.Store.CloseOperation(t.Context(), node.End{Operation: p.LastOperation("n1").ID, RunID: "run", Outcome: node.Succeeded})
	require.NoError(t, err)
	(<-answer).Is(202)
	require.Equal(t, node.KindDeploy, p.LastOperation("n1").Kind)
}

func TestRequestsWaitInOrder(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	p.In("n1", node.Active)
	p.power("n1", "power on")
	var answers []<-chan *apitest.Answer
	words := []string{"power off", "rebooting", "power on"}
	for i, word := range words {
		answers = append(answers, p.send(t.Context(), "PUT", "/v1/nodes/n1/states/power", target(word)))
		p.untilWaiting(i + 1)
	}
	for i, word := range words {
		p.end("n1")
		(<-answers[i]).Is(202)
		require.EqualValues(t, word, p.LastOperation("n1").PowerTarget)
	}
}

func TestTwoProcessesHearOfEachOther(t *testing.T) {
	t.Parallel()
	one := newPatient(t, nil)
	two := newPatient(t, one.Bench)
	one.In("n1", node.Active)
	one.power("n1", "power on")
	answers := []<-chan *apitest.Answer{
		one.send(t.Context(), "PUT", "/v1/nodes/n1/states/power", target("power off")),
		two.send(t.Context(), "PUT", "/v1/nodes/n1/states/power", target("rebooting")),
	}
	one.untilWaiting(1)
	two.untilWaiting(1)
	one.end("n1")
	require.Eventually(t, func() bool { return one.waiters()+two.waiters() == 1 }, time.Minute, 5*time.Millisecond, "one of them has its turn")
	two.end("n1")
	for _, a := range answers {
		(<-a).Is(202)
	}
}

func TestARequestThatHasWaitedInVainIsRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.NodeLockedWait = 50 * time.Millisecond }).WithConductors()
	uuid := b.In("n1", node.Available)
	b.SQL(`UPDATE nodes SET resource_class = 'gold', power_state = 'power off' WHERE uuid = $1`, uuid)
	b.Put("/v1/nodes/n1/states/power", target("power on")).Is(202)
	holder := b.Field("n1", "reservation").(string)
	require.Contains(t, b.Put("/v1/nodes/n1/states/power", target("power off")).Fails(409), fmt.Sprintf("Node %s is locked by host %s, please retry after the current operation is completed.", uuid, holder))
	b.Delete("/v1/nodes/n1").Fails(409)
	b.Post("/v1/allocations", map[string]any{"resource_class": "gold", "name": "a1"}).Is(201)
	require.Equal(t, "error", b.Last.Header.Get("Temper-Allocation"))
	require.Contains(t, b.Get("/v1/allocations/a1").Is(200)["last_error"], "held by an operation")
}

func TestAClientThatHangsUpStopsWaiting(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	p.In("n1", node.Active)
	p.power("n1", "power on")
	ctx, hangUp := context.WithCancel(t.Context())
	answer := p.send(ctx, "PUT", "/v1/nodes/n1/states/power", target("power off"))
	p.untilWaiting(1)
	hangUp()
	<-answer
	p.untilWaiting(0)
	p.end("n1")
	require.Equal(t, node.PowerOn, p.LastOperation("n1").PowerTarget)
}

// A request that is sent again while it waits is one request.
func TestARequestWithAKeyMayBeSentAgainWhileItWaits(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	p.In("n1", node.Active)
	p.power("n1", "power on")
	body := map[string]any{"verb": "rebooting", "idempotency_key": "k"}
	first := p.send(t.Context(), "POST", "/temper/v1/nodes/n1/operations", body)
	p.untilWaiting(1)
	second := p.send(t.Context(), "POST", "/temper/v1/nodes/n1/operations", body)
	p.untilWaiting(2)
	p.end("n1")
	require.Equal(t, (<-first).Is(202)["id"], (<-second).Is(202)["id"])
	require.Len(t, p.Operations.Started(), 2)
}

func TestMoreThanAHundredDoNotWait(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	p.In("n1", node.Active)
	p.power("n1", "power on")
	ctx, hangUp := context.WithCancel(t.Context())
	for i := range 100 {
		p.send(ctx, "PUT", "/v1/nodes/n1/states/power", target([]string{"power off", "rebooting"}[i%2]))
	}
	p.untilWaiting(100)
	p.Put("/v1/nodes/n1/states/power", target("power off")).Fails(409)
	hangUp()
	p.untilWaiting(0)
}

// Requests that meet no lock cost nothing more: nobody listens, and no writer notifies.
func TestNothingIsListenedForWithoutALock(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	for i := range 3 {
		p.In(fmt.Sprint("n", i), node.Active)
		p.power(fmt.Sprint("n", i), "power on")
		p.end(fmt.Sprint("n", i))
		p.power(fmt.Sprint("n", i), "power off")
	}
	require.Equal(t, "0 true", p.Text(`SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% events') || ' ' ||
		(SELECT ends_heard_until IS NULL FROM event_feed)`))
}
