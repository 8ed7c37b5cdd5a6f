package activities_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// book is a database of its own with one node and its open operation. It notes what steps write, and calls the hooks of a test
// before the store does.
type book struct {
	*store.Store
	t    testing.TB
	node string // its UUID
	op   int64

	url    string
	others sync.Mutex // of conn
	conn   *pgx.Conn  // for what others write; nil = nobody did

	mu        sync.Mutex // of what follows
	saves     int        // also those that were refused
	tells     int
	told      []node.Wait // what was told beside saves,
	toldAt    []time.Time // and when
	inspected node.Inspection
	serving   map[string]int64 // conductors that cover the node: the process of each

	onSave    func(n int)                    // called before each save with its number, from 1
	onTell    func(n int, w node.Wait) error // called before each tell with its number, from 1; its error is the answer
	onRequest func() error                   // called before a request is recorded; its error is the answer
}

// openStore is a store in which a conductor that registers stays alive, however busy the machine is.
func openStore(t testing.TB, url string) *store.Store {
	t.Helper()
	keys, err := store.NewKeyset()
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Config{URL: url, Keyset: keys, ConductorTimeout: time.Hour, ComputeLease: time.Second})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// newBook opens the operation o of the node n, and begins it as the run of the SDK's test environment.
func newBook(t testing.TB, n *node.Node, o *node.Operation, secrets node.Secrets) *book {
	t.Helper()
	url := testenv.Postgres(t)
	b := &book{t: t, Store: openStore(t, url), url: url, node: n.UUID, serving: map[string]int64{}}
	require.NoError(t, b.CreateNode(t.Context(), n, secrets, "admin"))
	opened, err := b.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) { return &node.Request{Open: o}, nil })
	require.NoError(t, err)
	_, err = b.Begin(t.Context(), opened.ID, opened.WorkflowID, run)
	require.NoError(t, err)
	b.op = opened.ID
	return b
}

// read returns the node with its operation.
func (b *book) read() *node.Node {
	b.t.Helper()
	n, err := b.Node(b.t.Context(), b.node)
	require.NoError(b.t, err)
	return n
}

const (
	lockBothSQL = `WITH n AS MATERIALIZED (SELECT id FROM nodes WHERE uuid = @uuid FOR UPDATE) SELECT o.id FROM operations o JOIN n ON n.id = o.node_id FOR UPDATE OF o`

	changeNodeSQL = `
UPDATE nodes SET driver = @driver, provision_state = @state, power_state = nullif(@power, ''), driver_info = @driver_info,
	driver_internal_info = @internal, properties = @properties, disable_power_off = @disable_power_off, owed = @owed, owed_refused = @owed_refused,
	boot_mode = nullif(@boot_mode, '')
 WHERE uuid = @uuid`

	changeOperationSQL = `
UPDATE operations SET version = version + 1, kind = @kind, phase = @phase, steps = @steps, undo = @undo, paused = @paused, handed_over = @handed_over, on_failure = @on_failure,
	asked = @asked, asked_power = @asked_power, asked_at = CASE WHEN @asked <> '' THEN clock_timestamp() END,
	claim_seq = @seq, claim_attempt = @attempt, claimed_at = @claimed_at, step_wait = @step_wait, temporal_pause = @pause, usual_until = @usual_until
 WHERE id = @op`

	silenceSQL = `
INSERT INTO bmc_silences SELECT n.id, @bmc, @since, @asked_at, @asked_by, @next_at, @seen FROM nodes n WHERE n.uuid = @uuid
ON CONFLICT (node_id) DO UPDATE SET since = excluded.since, asked_by = excluded.asked_by, next_at = excluded.next_at`

	agentGoneSQL     = `DELETE FROM agents a USING nodes n WHERE n.id = a.node_id AND n.uuid = @uuid`
	agentBootsSQL    = `INSERT INTO agents (node_id) SELECT id FROM nodes WHERE uuid = @uuid ON CONFLICT DO NOTHING`
	agentInspectsSQL = `UPDATE agents a SET inspected_at = @at FROM nodes n WHERE n.id = a.node_id AND n.uuid = @uuid`
)

// change lets somebody else change the node or its operation. Only the columns that a test has changed so far are written: a
// test that needs another one adds it to changed.
func (b *book) change(f func(n *node.Node)) {
	b.t.Helper()
	var n *node.Node
	var had *node.Agent
	b.beside(func(c *pgx.Conn) error {
		return pgx.BeginFunc(b.t.Context(), c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(b.t.Context(), lockBothSQL, pgx.NamedArgs{"uuid": b.node}); err != nil {
				return err
			}
			n = b.read()
			had = n.Agent
			f(n)
			return tx.SendBatch(b.t.Context(), b.changed(n, had)).Close()
		})
	})
	if n.Agent != nil && n.Agent != had { // of a boot that has begun
		b.raw(agentBootsSQL, pgx.NamedArgs{"uuid": b.node})
		require.NoError(b.t, b.agentCalls(b.t.Context(), *n.Agent, "token"))
	}
}

// changed returns the statements that write n and its operation, and forget the agent that it had.
func (b *book) changed(n *node.Node, had *node.Agent) *pgx.Batch {
	var out pgx.Batch
	out.Queue(changeNodeSQL, pgx.NamedArgs{
		"uuid": b.node, "driver": n.Driver, "state": n.ProvisionState, "power": n.PowerState, "driver_info": b.json(n.DriverInfo),
		"internal": b.json(n.DriverInternalInfo), "properties": b.json(n.Properties), "boot_mode": n.BootMode, "disable_power_off": n.DisablePowerOff,
		"owed": b.json(n.Owed), "owed_refused": n.OwedRefused,
	})
	o := n.Operation
	out.Queue(changeOperationSQL, pgx.NamedArgs{
		"op": b.op, "kind": o.Kind, "phase": o.Phase, "steps": b.json(o.Steps), "undo": b.json(o.Undo), "paused": o.Paused, "handed_over": o.Rests,
		"on_failure": o.OnFailure, "asked": o.Asked, "asked_power": o.AskedPower, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt,
		"claimed_at": o.ClaimedAt, "step_wait": o.StepWait, "pause": o.TemporalPause, "usual_until": o.UsualUntil,
	})
	if s := n.Silence; s != nil {
		out.Queue(silenceSQL, pgx.NamedArgs{
			"uuid": b.node, "bmc": s.BMC, "since": s.Since, "asked_at": s.AskedAt, "asked_by": s.AskedBy, "next_at": s.NextAt, "seen": s.Seen,
		})
	}
	if had != nil && n.Agent == nil {
		out.Queue(agentGoneSQL, pgx.NamedArgs{"uuid": b.node})
	}
	return &out
}

// agentCalls lets the agent of a boot look its node up, send a heartbeat and, if it has inspected the server, say so.
func (b *book) agentCalls(ctx context.Context, a node.Agent, token string) error {
	_, err := b.AgentLookup(ctx, b.node, "192.0.2.50", func(int, bool, bool) (bool, string) { return false, token })
	if err != nil {
		return err
	}
	if _, _, err = b.AgentHeartbeat(ctx, b.node, func(node.Agent, string) error { return nil }, a); err == nil && a.InspectedAt != nil {
		b.raw(agentInspectsSQL, pgx.NamedArgs{"uuid": b.node, "at": *a.InspectedAt})
	}
	return err
}

const inventorySQL = `INSERT INTO node_inventory (node_id, inventory, plugin_data) SELECT n.id, @inventory, @plugin FROM nodes n WHERE n.uuid = @uuid`

// sends records what the node's agent has found.
func (b *book) sends(inventory, plugin map[string]any) {
	b.t.Helper()
	b.raw(inventorySQL, pgx.NamedArgs{"uuid": b.node, "inventory": b.json(inventory), "plugin": b.json(plugin)})
}

// ask records a power request, as the API does.
func (b *book) ask(target node.PowerState) {
	b.t.Helper()
	_, err := b.Request(b.t.Context(), b.node, func(*node.Node) (*node.Request, error) {
		return &node.Request{Steer: &node.Steer{Ask: node.AskPower, By: "admin", Power: target}}, nil
	})
	require.NoError(b.t, err)
}

// covered lets exactly these conductors cover the node.
func (b *book) covered(by ...string) {
	b.t.Helper()
	ctx, n := b.t.Context(), b.read()
	for name, process := range b.serving {
		require.NoError(b.t, b.StopConductor(ctx, name, process))
	}
	clear(b.serving)
	has := map[string][]string{}
	for kind, name := range n.Interfaces {
		has[kind] = []string{name}
	}
	for _, name := range by {
		process, err := b.RegisterConductor(ctx, coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{n.Driver: has}})
		require.NoError(b.t, err)
		b.serving[name] = process
	}
}

const (
	leftSQL = `
INSERT INTO bmc_requests (node_id, name, conductor, until) SELECT n.id, @name, 'c0', @until FROM nodes n WHERE n.uuid = @uuid
ON CONFLICT (node_id) DO UPDATE SET name = excluded.name, conductor = excluded.conductor, repeated = false, until = excluded.until`
	awaitsSQL = `
INSERT INTO bmc_requests (node_id, answer_within) SELECT n.id, @us FROM nodes n WHERE n.uuid = @uuid
ON CONFLICT (node_id) DO UPDATE SET answer_within = excluded.answer_within`
	flightSQL = `
SELECT r.name, r.conductor, r.repeated, coalesce(r.until, 'epoch') FROM bmc_requests r JOIN nodes n ON n.id = r.node_id WHERE n.uuid = @uuid`
)

// left records a request of a conductor that is gone, which may still take effect until then.
func (b *book) left(name string, until time.Time) {
	b.t.Helper()
	b.raw(leftSQL, pgx.NamedArgs{"uuid": b.node, "name": name, "until": until})
}

// awaits records how long the answers of the BMC are awaited.
func (b *book) awaits(d time.Duration) {
	b.t.Helper()
	b.raw(awaitsSQL, pgx.NamedArgs{"uuid": b.node, "us": d.Microseconds()})
}

// flight returns the last request to the BMC, and until when it may take effect.
func (b *book) flight() (r node.BMCRequest, until time.Time) {
	b.t.Helper()
	b.beside(func(c *pgx.Conn) error {
		return c.QueryRow(b.t.Context(), flightSQL, pgx.NamedArgs{"uuid": b.node}).Scan(&r.Name, &r.Conductor, &r.Repeated, &until)
	})
	return r, until
}

// raw runs a statement that is not the store's.
func (b *book) raw(sql string, a pgx.NamedArgs) {
	b.t.Helper()
	b.beside(func(c *pgx.Conn) error {
		_, err := c.Exec(b.t.Context(), sql, a)
		return err
	})
}

// beside calls f with the connection for what others write.
func (b *book) beside(f func(*pgx.Conn) error) {
	b.t.Helper()
	b.others.Lock()
	defer b.others.Unlock()
	if b.conn == nil {
		c, err := pgx.Connect(b.t.Context(), b.url)
		require.NoError(b.t, err)
		b.t.Cleanup(func() { _ = c.Close(context.Background()) }) // the database is dropped next
		b.conn = c
	}
	require.NoError(b.t, f(b.conn))
}

// json returns v as the store writes it: what is empty is not null.
func (b *book) json(v any) string {
	b.t.Helper()
	out, err := json.Marshal(v)
	require.NoError(b.t, err)
	if _, dictionary := v.(map[string]any); dictionary && string(out) == "null" {
		return "{}"
	}
	if string(out) == "null" {
		return "[]"
	}
	return string(out)
}

// count counts a call, and returns its number.
func (b *book) count(what *int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	*what++
	return *what
}

func (b *book) SaveSteps(ctx context.Context, id int64, c node.Claim, p node.Progress) (node.Ask, error) {
	n := b.count(&b.saves)
	if b.onSave != nil {
		b.onSave(n)
	}
	return b.Store.SaveSteps(ctx, id, c, p)
}

func (b *book) TellWait(ctx context.Context, known *node.Operation, c node.Claim, w *node.Wait) (node.Ask, error) {
	told, at := *w, time.Now()
	n := b.count(&b.tells)
	if b.onTell != nil {
		if err := b.onTell(n, told); err != nil {
			return "", err
		}
	}
	ask, err := b.Store.TellWait(ctx, known, c, w)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.told, b.toldAt = append(b.told, told), append(b.toldAt, at)
	}
	return ask, err
}

func (b *book) StartRequest(ctx context.Context, id int64, c node.Claim, r node.BMCRequest) (node.Ask, error) {
	if b.onRequest != nil {
		if err := b.onRequest(); err != nil {
			return "", err
		}
	}
	return b.Store.StartRequest(ctx, id, c, r)
}

func (b *book) SaveInspection(ctx context.Context, id int64, c node.Claim, i node.Inspection) (int, error) {
	b.inspected = i
	return b.Store.SaveInspection(ctx, id, c, i)
}
