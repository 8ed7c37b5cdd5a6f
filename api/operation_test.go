package api_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestOperations(t *testing.T) {
	b := newBench(t, func(c *config) {
		c.WorkflowURL = func(o *node.Operation) string { return "http://ui/" + strconv.FormatInt(o.ID, 10) }
	}).withConductors()
	var ids []string
	for i := range 5 {
		name := fmt.Sprintf("n%d", i)
		b.enrolled(name)
		ids = append(ids, b.put("/v1/nodes/"+name+"/states/provision", request("manage")).header.Get("Temper-Operation"))
	}
	b.put("/v1/nodes/"+b.in("p", node.Active)+"/states/power", map[string]any{"target": "power on"}).is(202)
	b.in("d", node.DeployWait)

	count := func(query string) int {
		return len(b.get("/temper/v1/operations" + query).is(200)["operations"].([]any))
	}
	require.Equal(t, 7, count(""))
	require.Equal(t, 5, count("?kind=manage"))
	require.Equal(t, 1, count("?state=waiting"))
	require.Equal(t, 1, count("?node=n3"))
	require.Equal(t, 0, count("?state=ended"))
	page := b.get("/temper/v1/operations?kind=manage&limit=2").is(200)
	require.Len(t, page["operations"], 2)
	require.Equal(t, ids[4], page["operations"].([]any)[0].(map[string]any)["id"], "newest first")
	second := b.get(strings.TrimPrefix(page["next"].(string), "http://temper.test:6385")).is(200)
	require.Equal(t, ids[2], second["operations"].([]any)[0].(map[string]any)["id"])
	require.Nil(t, b.get("/temper/v1/operations").is(200)["next"])

	one := b.get("/temper/v1/operations/" + ids[0]).is(200)
	require.Subset(t, keys(one), []string{
		"id", "node_uuid", "node_name", "kind", "state", "outcome", "error", "requested_by", "accepted_at", "begun_at", "ended_at",
		"workflow_id", "run_id", "conductor", "waiting_for", "waiting_until", "retry_of", "steps",
	})
	require.Equal(t, "n0", one["node_name"])
	require.Subset(t, keys(one["steps"].([]any)[0].(map[string]any)), []string{
		"index", "interface", "step", "state", "attempts", "conductor", "started_at", "ended_at", "last_error",
	})
	for query, status := range map[string]int{
		"?kind=odd": 400, "?state=odd": 400, "?limit=0": 400, "?marker=x": 400, "?odd=1": 400, "/odd": 404, "/999999": 404, "?node=nosuch": 404, "?node=a%20b": 400,
	} {
		b.get("/temper/v1/operations" + query).fails(status)
	}
	story := b.field("d", "driver_internal_info").(map[string]any)
	require.Equal(t, map[string]any{
		"operation": strconv.Itoa(7), "kind": "deploy", "state": "waiting", "step": "deploy.write_image", "attempt": 2.0,
		"last_error": "agent busy", "waiting_for": nil, "gives_up_at": nil, "workflow_url": "http://ui/7",
	}, story["temper"])
	require.EqualValues(t, 0, story["deploy_step_index"])
	require.Len(t, story["deploy_steps"], 2)
	require.Equal(t, "write_image", b.field("d", "deploy_step").(map[string]any)["step"])
}

func TestCancelOperation(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	id := b.put("/v1/nodes/n1/states/provision", request("manage")).header.Get("Temper-Operation")
	path := "/temper/v1/operations/" + id + "/cancel"
	b.post(path, map[string]any{"why": "x"}).fails(400)
	b.post(path, map[string]any{"reason": 1}).fails(400)
	body := b.post(path, map[string]any{"reason": "wrong node"}).is(202)
	require.Equal(t, []any{"cancel", "wrong node"}, []any{body["asked"], body["asked_reason"]})
	require.Equal(t, []string{"cancel " + id + ": wrong node"}, b.ops.toldWhat())
	b.post(path, nil).is(202)
	b.sql(`UPDATE operations SET phase = 'ended', outcome = 'cancelled', ended_at = now()`)
	b.post(path, nil).fails(409)
	b.post("/temper/v1/operations/999999/cancel", nil).fails(404)
	b.post("/temper/v1/operations/odd/cancel", nil).fails(404)
}

func TestHealth(t *testing.T) {
	ready := error(nil)
	b := newBench(t, func(c *config) { c.Ready = readyFunc(&ready) })
	b.get("/temper/v1/healthz").is(200)
	b.get("/temper/v1/readyz").is(200)
	ready = fault.New(fault.Unavailable, "temporal at 10.0.0.1 is away")
	require.NotContains(t, string(b.get("/temper/v1/readyz").raw), "10.0.0.1")
	require.Equal(t, 503, b.last.status)
	require.Equal(t, []any{"the log says why"}, b.last.is(503)["reasons"])
	away := func(reason string) error {
		return &api.Missing{Reason: reason, Err: errors.New("dial 10.0.0.1: password wrong")}
	}
	ready = errors.Join(away("PostgreSQL does not answer"), fmt.Errorf("wait: %w", away("Temporal does not answer")))
	body := b.get("/temper/v1/readyz").is(503)
	require.Equal(t, map[string]any{
		"status": "not ready", "reasons": []any{"PostgreSQL does not answer", "Temporal does not answer"},
		"code": "unavailable", "help": []any{},
	}, body)
	b.get("/temper/v1/healthz").is(200)
	b.get("/temper/v1/nosuch").fails(404)
}

func TestTheDatabaseAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close()) // nobody listens there
	keyset, err := store.NewKeyset()
	require.NoError(t, err)
	st, err := store.Open(t.Context(), store.Config{URL: "postgres://temper:swordfish@" + l.Addr().String() + "/temper", Keyset: keyset})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	core, lines := observer.New(zap.InfoLevel)
	b := newBench(t, func(c *config) { c.Store, c.Log = st, zap.New(core) })
	require.Equal(t, "Resource temporarily unavailable, please retry.", b.get("/v1/nodes").fails(503))
	require.Equal(t, fault.DatabaseUnavailable, b.last.refused(503).Code)
	logged := told(t, lines, b.last)
	require.Contains(t, logged, ": the database is away: dial tcp")
	require.Contains(t, logged, "refused")
	require.NotContains(t, logged, "swordfish")
}

func TestNoConductorIsToldFromTheDatabaseAway(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	b := newBench(t, func(c *config) { c.Log = zap.New(core) })
	require.Equal(t, "Resource temporarily unavailable, please retry.", b.post("/v1/nodes", map[string]any{"driver": "redfish"}).fails(503))
	require.Equal(t, fault.NoConductorAlive, b.last.refused(503).Code)
	require.Contains(t, told(t, lines, b.last), `no conductor is alive and takes work: driver redfish, conductor group ""`)
}

// told is the error that was logged under the request id of an answer.
func told(t *testing.T, lines *observer.ObservedLogs, a *answer) string {
	t.Helper()
	mine := lines.FilterField(zap.String("request_id", a.header.Get("OpenStack-Request-Id"))).FilterMessage("request failed").All()
	require.Len(t, mine, 1)
	return fmt.Sprint(mine[0].ContextMap()["error"])
}

func TestBasicAuth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	write := func(user, password string) {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(user+":"+string(hash)+"\n"), 0o600))
	}
	write("alice", "right")
	b := newBench(t, func(c *config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} }).withConductors()
	a := b.get("/v1/nodes")
	require.Equal(t, `Basic realm="Baremetal API"`, a.header.Get("WWW-Authenticate"))
	require.Equal(t, map[string]any{"message": "Authorization required", "code": 401.0}, a.is(401)["error"])
	require.Equal(t, "1.95", a.header.Get(maxVersion))
	b.user = "alice:wrong"
	require.Equal(t, "Incorrect username or password", b.get("/v1/nodes").is(401)["error"].(map[string]any)["message"])
	b.user = "bob:right"
	b.get("/v1/nodes").is(401)
	b.user = ""
	for path, status := range map[string]int{
		"/": 200, "/v1": 200, "/v1/": 200, "/v1/lookup": 400, "/temper/v1/healthz": 200, "/temper/v1/readyz": 200,
		"/temper/v1/operations": 401, "/v1/nosuch": 401, "/v1/heartbeat": 401, "/nodes": 401,
	} {
		require.Equal(t, status, b.get(path).status, path)
	}
	require.NotEqual(t, 401, b.at(68, "POST", "/v1/heartbeat/x", map[string]any{}).status)
	require.NotEqual(t, 401, b.at(84, "POST", "/v1/continue_inspection", map[string]any{}).status)

	b.user = "alice:right"
	b.enrolled("n1")
	id := b.put("/v1/nodes/n1/states/provision", request("manage")).header.Get("Temper-Operation")
	require.Equal(t, "alice", b.get("/temper/v1/operations/" + id).is(200)["requested_by"])

	write("bob", "changed-now")
	require.NoError(t, os.Chtimes(file, b.now(), b.now().Add(1e10)))
	b.get("/v1/nodes").is(401)
	b.user = "bob:changed-now"
	b.get("/v1/nodes").is(200)
}

// A header with another address must not buy more guesses.
func TestGuessesOfPasswordsAreThrottledAndLogged(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("alice:"+string(hash)+"\n"), 0o600))
	core, lines := observer.New(zap.WarnLevel)
	b := newBench(t, func(c *config) { c.Auth, c.Log = api.Auth{Strategy: api.HTTPBasic, File: file}, zap.New(core) })
	b.user = "alice:wrong"
	for i := range 30 {
		b.with(http.Header{"X-Forwarded-For": {fmt.Sprintf("10.0.0.%d", i)}, "X-Real-Ip": {"10.1.1.1"}}, "GET", "/v1/nodes", nil)
	}
	require.Equal(t, map[string]any{"message": "Too many wrong passwords from this address; try again later", "code": 429.0}, b.last.is(429)["error"])
	after, err := strconv.Atoi(b.last.header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, after)
	told := lines.FilterMessage("login refused").All()
	require.NotEmpty(t, told)
	require.Equal(t, "alice", told[0].ContextMap()["user"])
	require.Equal(t, "192.0.2.1", told[0].ContextMap()["source"], "the connection's address")
	b.user = ""
	b.get("/v1").is(200)
}

func TestAuthSettingsAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("alice:plain-secret\n"), 0o600))
	for name, a := range map[string]api.Auth{
		"an unknown strategy":                {Strategy: "keystone"},
		"no file":                            {Strategy: api.HTTPBasic, File: file + "x"},
		"a password that is no bcrypt hash":  {Strategy: api.HTTPBasic, File: file},
		"no strategy is noauth, which works": {},
	} {
		_, err := api.New(config{Store: stubStore{}, Operations: &operations{}, Drivers: drivers{}, Auth: a})
		if a.Strategy == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "plain-secret")
	}
	_, err := api.New(config{})
	require.ErrorContains(t, err, "no store")
}

func TestRequestsAreNamedAndCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := newBench(t, func(c *config) { c.Metrics = registry })
	require.Regexp(t, `^req-[0-9a-f-]{36}$`, b.get("/v1/nodes/a").header.Get("Openstack-Request-Id"))
	b.get("/v1/nodes/b")
	b.get("/nosuch/path")
	families, err := registry.Gather()
	require.NoError(t, err)
	routes := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "temper_http_requests_total" {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "route" {
						routes[l.GetValue()] += m.GetCounter().GetValue()
					}
				}
			}
		}
	}
	require.Equal(t, map[string]float64{"/v1/nodes/:node": 2, "none": 1}, routes, "by template, never by path")
}

// Whoever may not even come in must not be able to make series without end.
func TestInventedMethodsAreCountedAsOne(t *testing.T) {
	registry := prometheus.NewRegistry()
	b := newBench(t, func(c *config) { c.Metrics = registry })
	for i := range 50 {
		b.at(newest, fmt.Sprintf("INVENTED%d", i), "/v1/nodes", nil).fails(405)
	}
	b.get("/v1/nodes").is(200)
	families, err := registry.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "temper_http_requests_total" {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "method" {
						counted[l.GetValue()] += m.GetCounter().GetValue()
					}
				}
			}
		}
		if f.GetName() == "temper_http_request_seconds" {
			require.LessOrEqual(t, len(f.GetMetric()), 2)
		}
	}
	require.Equal(t, map[string]float64{"other": 50, "GET": 1}, counted)
}

// stubStore panics at every call: a handler's panic is answered.
type stubStore struct{ api.Store }

func TestAPanicIsAnswered(t *testing.T) {
	server, err := api.New(config{Store: stubStore{}, Operations: &operations{}, Drivers: drivers{}})
	require.NoError(t, err)
	b := &bench{t: t, handler: server.Handler()}
	require.Equal(t, "Internal error", b.get("/v1/nodes").fails(500))
	require.Equal(t, http.StatusOK, b.get("/").status)
}

// People see how an operation ended where they see the state of one that is open.
func TestOperationsAreListedByHowTheyEnded(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Deploying)
	ended := func(outcome string) {
		b.sql(`INSERT INTO operations (node_uuid, kind, phase, outcome, origin, conductor_group, driver, steps, ended_at)
			VALUES (gen_random_uuid(), 'deploy', 'ended', '` + outcome + `', 'available', '', 'fake-hardware', '[]', now())`)
	}
	for _, o := range []string{"succeeded", "failed", "failed", "cancelled"} {
		ended(o)
	}
	for query, want := range map[string]int{
		"state=failed": 2, "state=succeeded": 1, "state=cancelled": 1, "state=ended": 4, "outcome=failed": 2, "outcome=cancelled": 1,
		"state=ended&outcome=failed": 2, "state=failed&outcome=failed": 2, "state=running&outcome=failed": 0, "state=failed&kind=clean": 0,
	} {
		require.Len(t, b.get("/temper/v1/operations?" + query).is(200)["operations"], want, query)
	}
	for _, query := range []string{"outcome=ended", "state=nonsense"} {
		b.get("/temper/v1/operations?" + query).fails(400)
	}
	require.Equal(t, `State "failed" and outcome "succeeded" exclude each other`, b.get("/temper/v1/operations?state=failed&outcome=succeeded").fails(400))
}
