package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// operations is an Operations with a memory: what would run, and what was told.
type operations struct {
	mu      sync.Mutex
	started []int64
	told    []string // "cancel 3: reason", "nudge 4"
	fail    error
	status  node.RunStatus
	newest  *node.RunStatus // of the newest run, where that is another one
	asked   func()          // when it is asked for the status; may be nil
}

func (o *operations) Start(_ context.Context, op *node.Operation) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = append(o.started, op.ID)
	return o.fail
}

func (o *operations) Cancel(_ context.Context, op *node.Operation, reason string) error {
	return o.tell(fmt.Sprintf("cancel %d: %s", op.ID, reason))
}

func (o *operations) Nudge(_ context.Context, op *node.Operation) error {
	return o.tell(fmt.Sprintf("nudge %d: %s", op.ID, op.Asked))
}

func (o *operations) Decide(_ context.Context, op *node.Operation, a node.Action, by, reason string) error {
	return o.tell(fmt.Sprintf("decide %d: %s by %s: %s", op.ID, a, by, reason))
}

func (o *operations) Status(_ context.Context, op *node.Operation) (node.RunStatus, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked != nil {
		o.asked()
	}
	if o.newest != nil && op.RunID == "" {
		return *o.newest, o.fail
	}
	return o.status, o.fail
}

func (o *operations) Unpause(_ context.Context, op *node.Operation, by, reason string) error {
	return o.tell(fmt.Sprintf("unpause %d by %s: %s", op.ID, by, reason))
}

func (o *operations) Terminate(_ context.Context, op *node.Operation, reason string) error {
	return o.tell(fmt.Sprintf("terminate %d: %s", op.ID, reason))
}

func (o *operations) tell(what string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, what)
	return o.fail
}

func (o *operations) startedIDs() []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]int64{}, o.started...)
}

func (o *operations) toldWhat() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{}, o.told...)
}

// drivers knows redfish by its address.
type drivers struct{}

func (drivers) Validate(driver string, info map[string]any) error {
	if driver == "redfish" && (info["redfish_address"] == nil || info["redfish_address"] == "") {
		return fault.New(fault.Invalid, "Missing redfish_address")
	}
	return nil
}

// bench is one API with a database of its own.
type bench struct {
	t       *testing.T
	url     string
	store   *store.Store
	ops     *operations
	handler http.Handler
	server  *api.Server
	last    *answer
	user    string // user:password, "" = none
}

func newBench(t *testing.T, change ...func(*api.Config)) *bench {
	t.Helper()
	keyset, err := store.NewKeyset()
	require.NoError(t, err)
	url := testenv.Postgres(t)
	st, err := store.Open(t.Context(), store.Config{URL: url, Keyset: keyset, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	b := &bench{t: t, url: url, store: st, ops: &operations{}}
	c := api.Config{
		Store: st, Operations: b.ops, Drivers: drivers{}, PublicURL: "http://temper.test:6385", AutomatedClean: true,
		Agent: api.AgentSettings{Callback: agent.CallbackPolicy{AllowHTTP: true, AllowLoopback: true}},
	}
	for _, f := range change {
		f(&c)
	}
	b.server, err = api.New(c)
	require.NoError(t, err)
	b.handler = b.server.Handler()
	return b
}

// withConductors adds conductors c1 and c2 with both hardware types.
func (b *bench) withConductors() *bench {
	b.conductor("c1", "", "fake-hardware", "redfish")
	b.conductor("c2", "", "fake-hardware", "redfish")
	return b
}

func (b *bench) conductor(name, group string, types ...string) int64 {
	b.t.Helper()
	interfaces := map[string]map[string][]string{}
	for _, driver := range types {
		hw, ok := node.Hardware(driver)
		require.True(b.t, ok, driver)
		interfaces[driver] = hw.Supports()
	}
	incarnation, err := b.store.RegisterConductor(b.t.Context(), coverage.Conductor{Hostname: name, Group: group, Interfaces: interfaces})
	require.NoError(b.t, err)
	return incarnation
}

// sql changes rows behind the API's back, to bring a node where a test begins.
func (b *bench) sql(statement string, args ...any) {
	b.t.Helper()
	c, err := pgx.Connect(b.t.Context(), b.url)
	require.NoError(b.t, err)
	defer func() { _ = c.Close(context.Background()) }()
	_, err = c.Exec(b.t.Context(), statement, args...)
	require.NoError(b.t, err, statement)
}

// text reads one value behind the API's back.
func (b *bench) text(query string) (out string) {
	b.t.Helper()
	c, err := pgx.Connect(b.t.Context(), b.url)
	require.NoError(b.t, err)
	defer func() { _ = c.Close(context.Background()) }()
	require.NoError(b.t, c.QueryRow(b.t.Context(), query).Scan(&out), query)
	return out
}

// answer is what a request got.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	raw    []byte
}

// newest is the microversion of requests that do not say.
const newest = 95

func (b *bench) get(path string) *answer              { return b.at(newest, "GET", path, nil) }
func (b *bench) delete(path string) *answer           { return b.at(newest, "DELETE", path, nil) }
func (b *bench) post(path string, body any) *answer   { return b.at(newest, "POST", path, body) }
func (b *bench) put(path string, body any) *answer    { return b.at(newest, "PUT", path, body) }
func (b *bench) patch(path string, ops ...op) *answer { return b.at(newest, "PATCH", path, ops) }

// op is one operation of a PATCH.
type op map[string]any

func add(path string, v any) op { return op{"op": "add", "path": path, "value": v} }
func replace(path string, v any) op {
	return op{"op": "replace", "path": path, "value": v}
}
func remove(path string) op { return op{"op": "remove", "path": path} }

// at asks with a microversion; 0 sends no header. A string body is sent as it is.
func (b *bench) at(minor int, method, path string, body any) *answer {
	b.t.Helper()
	h := http.Header{}
	if minor != 0 {
		h.Set("X-OpenStack-Ironic-API-Version", fmt.Sprintf("1.%d", minor))
	}
	return b.with(h, method, path, body)
}

func (b *bench) with(h http.Header, method, path string, body any) *answer {
	b.t.Helper()
	var sent []byte
	switch v := body.(type) {
	case nil:
	case string:
		sent = []byte(v)
	default:
		raw, err := json.Marshal(v)
		require.NoError(b.t, err)
		sent = raw
	}
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, bytes.NewReader(sent))
	for k, v := range h {
		r.Header[k] = v
	}
	if name, password, ok := strings.Cut(b.user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	a := &answer{t: b.t, what: method + " " + path, status: w.Code, header: w.Header(), raw: w.Body.Bytes()}
	checkContract(b.t, r, sent, a)
	b.last = a
	return a
}

// is asserts the status and gives the body.
func (a *answer) is(status int) map[string]any {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s: %s", a.what, a.raw)
	if len(a.raw) == 0 {
		return nil
	}
	var out map[string]any
	require.NoError(a.t, json.Unmarshal(a.raw, &out), "%s: %s", a.what, a.raw)
	return out
}

// fails asserts an error in Ironic's shape, and gives its words.
func (a *answer) fails(status int) string {
	a.t.Helper()
	body := a.is(status)
	text, ok := body["error_message"].(string)
	require.True(a.t, ok, "%s: error_message is no string: %s", a.what, a.raw)
	var inner struct {
		Faultcode, Faultstring string
		Debuginfo              *string
	}
	require.NoError(a.t, json.Unmarshal([]byte(text), &inner), text)
	require.Nil(a.t, inner.Debuginfo)
	want := "Client"
	if status >= 500 {
		want = "Server"
	}
	require.Equal(a.t, want, inner.Faultcode)
	return inner.Faultstring
}

// enrolled makes a node with fake-hardware and gives its uuid.
func (b *bench) enrolled(name string) string {
	b.t.Helper()
	body := b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": name}).is(201)
	return body["uuid"].(string)
}

// in makes a node that is in a state, with an open operation where the state needs one.
func (b *bench) in(name string, s node.State) string {
	b.t.Helper()
	uuid := b.enrolled(name)
	b.moveTo(uuid, s)
	return uuid
}

// kindIn is the kind of the operation that is open in a transient state.
var kindIn = map[node.State]node.OperationKind{
	node.Verifying: node.KindManage, node.Inspecting: node.KindInspect, node.InspectWait: node.KindInspect,
	node.Deploying: node.KindDeploy, node.DeployWait: node.KindDeploy, node.DeployHold: node.KindDeploy,
	node.Deleting: node.KindUndeploy, node.Cleaning: node.KindProvide, node.CleanWait: node.KindProvide, node.CleanHold: node.KindProvide,
}

func (b *bench) moveTo(uuid string, s node.State) {
	b.t.Helper()
	b.sql(`UPDATE nodes SET provision_state = $2, target_provision_state = $3 WHERE uuid = $1`, uuid, string(s), string(node.TargetOf(s)))
	if !node.Transient(s) {
		return
	}
	kind, ok := kindIn[s]
	if !ok {
		kind = node.KindClean // rescue, service, adoption: their kinds are not built
	}
	phase := "running"
	if node.Waits(s) {
		phase = "waiting"
	}
	b.sql(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, origin, target, conductor_group, driver, conductor, run_id, begun_at, steps)
		SELECT id, uuid, coalesce(name, ''), $2, $3, 'available', $4, '', driver, 'c1', 'run', now(),
			'[{"index":0,"interface":"deploy","step":"prepare","priority":0,"source":"core","state":"done","attempts":1},
			  {"index":1,"interface":"deploy","step":"write_image","priority":80,"source":"driver","state":"running","attempts":2,"last_error":"agent busy","args":{"a":1}},
			  {"index":2,"interface":"deploy","step":"boot_instance","priority":20,"source":"driver","state":"pending","attempts":0}]'
		FROM nodes WHERE uuid = $1`, uuid, string(kind), phase, string(node.TargetOf(s)))
}

// field reads one field of a node.
// credentials are the opened secrets of the node as it is now.
func (b *bench) credentials(ident string) (node.Secrets, error) {
	b.t.Helper()
	n, err := b.store.Node(b.t.Context(), ident)
	require.NoError(b.t, err)
	return b.store.Credentials(b.t.Context(), n)
}

func (b *bench) field(ident, name string) any {
	b.t.Helper()
	return b.get("/v1/nodes/" + ident).is(200)[name]
}
