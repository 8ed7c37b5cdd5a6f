package activities_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// Most tests of steps use book instead of a database. Whatever steps write and read, in any
// order, and whatever others do meanwhile, a book answers and stores as the store does.
func TestABookDoesWhatTheStoreDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newComparison(t, rand.New(rand.NewPCG(seed, 12)))
			for i := range 60 {
				c.what = fmt.Sprintf("%d: ", i)
				c.held = c.claimed
				if c.IntN(6) == 0 {
					c.held.Attempt++ // another attempt's claim
				}
				acts := []func(){
					c.claim, c.claim, c.check, c.startRequest, c.tellWait, c.save, c.save, c.save, c.saveInspection, c.handOver,
					c.ask, c.agentCalls, c.newPassword, c.conductorChanges, c.conductorDies,
				}
				acts[c.IntN(len(acts))]()
				c.compare()
			}
		})
	}
}

// comparison does the same with a store and with a book, and compares them.
type comparison struct {
	*records
	*rand.Rand
	book *book
	op   int64
	what string // what is done now, for messages

	claimed    node.Claim // the newest claim
	held       node.Claim // the claim under which to write now
	began      time.Time
	conductors map[string]*coverage.Conductor // those whose state changes
	deaths     []node.Death
}

// newComparison returns a comparison whose node is being deployed and owes what an earlier deploy left.
func newComparison(t *testing.T, d *rand.Rand) *comparison {
	c := &comparison{records: newRecords(t), Rand: d, began: time.Now().UTC().Truncate(time.Microsecond)}
	c.conductors = map[string]*coverage.Conductor{"k1": {}, "k2": {}, "k3": {}}
	left := c.deploying()
	_, err := c.db.Begin(t.Context(), left.ID, left.WorkflowID, run)
	require.NoError(t, err)
	require.NoError(t, c.db.SetUndo(t.Context(), left.ID, run, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}, node.Failure{Error: "x"}))
	_, err = c.db.CloseOperation(t.Context(), node.End{Operation: left.ID, RunID: run, Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	c.op = c.deploying(
		node.Step{Interface: "deploy", Step: node.StepPrepare, Source: node.SourceCore, State: node.StepPending},
		node.Step{Index: 1, Interface: "deploy", Step: node.StepDeploy, Source: node.SourceDriver, State: node.StepPending}).ID
	_, err = c.db.Begin(t.Context(), c.op, "", run)
	require.NoError(t, err)
	n, err := c.db.Node(t.Context(), c.node.UUID)
	require.NoError(t, err)
	require.Len(t, n.Owed, 3)
	c.book = newBook(*n, *n.Operation)
	c.book.hosts, err = c.db.Covering(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Len(t, c.book.hosts, 1)
	return c
}

func (c *comparison) one(of ...string) string { return of[c.IntN(len(of))] }
func (c *comparison) maybe() bool             { return c.IntN(2) == 0 }

// both calls f with the book and with the store. The results must be the same.
func (c *comparison) both(name string, f func(conductor.OperationStore) (any, error)) any {
	c.Helper()
	want, wanted := f(c.db)
	got, err := f(c.book)
	require.Equal(c, wanted == nil, err == nil, "%s%s: the store says %v, the book %v", c.what, name, wanted, err)
	if err != nil {
		require.Equal(c, fault.KindOf(wanted), fault.KindOf(err), "%s%s: %v, %v", c.what, name, wanted, err)
	}
	require.Equal(c, want, got, c.what+name)
	return got
}

// write does f in both as what is done now.
func (c *comparison) write(what string, f func(conductor.OperationStore) (any, error)) any {
	c.Helper()
	c.what += what + ": "
	return c.both("", f)
}

// compare reads everything that steps read.
func (c *comparison) compare() {
	uuid := c.node.UUID
	require.Equal(c, rowsOf(c.T, c.db, uuid), rowsOf(c.T, c.book, uuid), c.what)
	c.both("the conductors that cover the node", func(r conductor.OperationStore) (any, error) { return r.Covering(c.Context(), uuid) })
	c.both("deaths", func(r conductor.OperationStore) (any, error) { return r.StillDead(c.Context(), c.deaths) })
	c.both("the agent's token", func(r conductor.OperationStore) (any, error) { return r.AgentToken(c.Context(), uuid) })
	c.both("the secrets", func(r conductor.OperationStore) (any, error) {
		n, err := r.Node(c.Context(), uuid)
		require.NoError(c, err)
		return r.Credentials(c.Context(), n)
	})
	c.both("the ports", func(r conductor.OperationStore) (any, error) {
		ports, err := r.NodePorts(c.Context(), uuid)
		var out []string
		for _, p := range ports {
			out = append(out, fmt.Sprint(p.Address, p.PXEEnabled))
		}
		return out, err
	})
	c.both("the inventory", func(r conductor.OperationStore) (any, error) {
		inventory, plugin, err := r.Inventory(c.Context(), uuid)
		return []map[string]any{inventory, plugin}, err
	})
}

func (c *comparison) claim() {
	next := node.Claim{Seq: c.claimed.Seq + int64(c.IntN(5)) - 1, Attempt: c.claimed.Attempt + int32(c.IntN(5)) - 1}
	started := c.began.Add(time.Duration(c.IntN(100)) * time.Second)
	host := c.one("c1", "c2")
	got := c.write(fmt.Sprintf("claim %v, begun at %s, by %s", next, started, host), func(r conductor.OperationStore) (any, error) {
		n, err := r.Claim(c.Context(), c.op, run, next, started, host)
		if err != nil {
			return nil, err
		}
		if f := n.Operation.InFlight; f != nil {
			return []any{n.Operation.Claim, f.Name, f.Conductor, f.Repeated, f.Left.Round(time.Hour), n.Operation.AnswerWithin, n.Operation.RequestsSent}, nil
		}
		return []any{n.Operation.Claim, n.Operation.AnswerWithin, n.Operation.RequestsSent}, nil
	})
	if taken, ok := got.([]any); ok {
		c.claimed = taken[0].(node.Claim)
	}
}

func (c *comparison) check() {
	c.write("check", func(r conductor.OperationStore) (any, error) { return r.CheckClaim(c.Context(), c.op, c.held) })
}

func (c *comparison) startRequest() {
	r := node.BMCRequest{Name: c.one("power On", "power ForceOff"), Repeated: c.maybe(), Left: time.Duration(c.IntN(3)) * time.Hour, AnswerWithin: time.Duration(1+c.IntN(3)) * time.Second}
	c.write(fmt.Sprintf("start %+v", r), func(s conductor.OperationStore) (any, error) { return s.StartRequest(c.Context(), c.op, c.held, r) })
}

func (c *comparison) tellWait() {
	w := &node.Wait{For: node.WaitPower, Subject: "power off", Since: c.began, Seen: c.one("On", "Off")}
	c.write(fmt.Sprintf("tell %+v", w), func(r conductor.OperationStore) (any, error) { return r.TellWait(c.Context(), c.op, c.held, w) })
}

func (c *comparison) save() {
	p := node.Progress{
		Phase: node.Phase(c.one("", string(node.Running), string(node.Waiting))), WaitingFor: c.one("", "the agent"),
		Move: node.Event(c.one("", "", string(node.EventWait), string(node.EventResume))), Power: node.PowerState(c.one("", string(node.PowerOn), string(node.PowerOff))),
		LastError: c.one("", "", "no answer"), Rests: c.maybe(), Came: c.maybe(), ClearAsk: c.IntN(3) == 0, ClearAgent: c.IntN(3) == 0, Refused: c.IntN(4) == 0,
		BootMode: c.one("", "uefi", "bios"),
	}
	if c.maybe() {
		p.Internal = map[string]any{c.one("deploy_boot", "agent"): c.one("a", "b")}
	}
	if c.maybe() {
		p.Undo = []node.Undo{node.UndoPowerOff}
	}
	if c.maybe() {
		p.InFlight = &node.BMCRequest{Name: c.book.flight.Name, Repeated: c.maybe(), Left: time.Duration(c.IntN(3)) * time.Hour}
	}
	if c.maybe() {
		p.AnswerWithin = time.Duration(1+c.IntN(3)) * time.Second
	}
	if c.IntN(6) == 0 {
		p.OwedDone = []node.Undo{node.Undo(c.one(string(node.UndoPowerOff), string(node.UndoEjectMedia), string(node.UndoClearBoot)))}
	}
	if c.IntN(4) > 0 {
		p.Steps = []node.Step{{Interface: "deploy", Step: node.StepPrepare, State: node.StepState(c.one("running", "done", "failed")), Failures: c.IntN(3)}}
	}
	c.write(fmt.Sprintf("save %+v", p), func(r conductor.OperationStore) (any, error) { return r.SaveSteps(c.Context(), c.op, c.held, p) })
}

func (c *comparison) saveInspection() {
	found := node.Inspection{Properties: map[string]any{c.one("cpu_arch", "vendor"): c.one("a", "b")}, BootMode: c.one("", "uefi", "bios")}
	for range c.IntN(3) {
		found.Ports = append(found.Ports, node.Port{Address: fmt.Sprintf("52:54:00:00:00:%02x", c.IntN(8)), PXEEnabled: true})
	}
	if c.maybe() {
		found.Inventory, found.PluginData = map[string]any{"cpu": c.one("a", "b")}, map[string]any{"error": c.one("a", "b")}
	}
	c.write(fmt.Sprintf("save inspection %+v", found), func(r conductor.OperationStore) (any, error) {
		return r.SaveInspection(c.Context(), c.op, c.held, found)
	})
}

func (c *comparison) handOver() {
	var p *node.Pause
	if c.maybe() {
		p = &node.Pause{What: node.PauseOf(c.one(string(node.PauseOfActivity), string(node.PauseOfWorkflow))), At: c.began}
	}
	c.write(fmt.Sprintf("hand over %+v", p), func(r conductor.OperationStore) (any, error) {
		return nil, r.HandOver(c.Context(), c.op, c.held, p, node.Progress{})
	})
}

// The others write the store as the API and other conductors do, and note in the book what that changes for steps.

func (c *comparison) ask() {
	ask := node.Ask(c.one(string(node.AskUnhold), string(node.AskPower), string(node.AskAbort)))
	c.what += "ask " + string(ask) + ": "
	_, err := c.db.Request(c.Context(), c.node.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Steer: &node.Steer{Ask: ask, By: "admin", Power: node.PowerOn}}, nil
	})
	require.NoError(c, err)
	c.book.op.Asked, c.book.op.AskedPower = ask, node.PowerOn
}

func (c *comparison) agentCalls() {
	fresh, address := c.one("token a", "token b"), "https://192.0.2.50:9999"
	c.what += "the agent calls with " + fresh + ": "
	token, err := c.db.AgentLookup(c.Context(), c.node.UUID, "192.0.2.50", func(int, bool, bool) (bool, string) { return false, fresh })
	require.NoError(c, err)
	_, _, err = c.db.AgentHeartbeat(c.Context(), c.node.UUID, func(node.Agent, string) error { return nil }, node.Agent{URL: address})
	require.NoError(c, err)
	c.book.node.Agent, c.book.token = &node.Agent{URL: address}, token
}

func (c *comparison) newPassword() {
	password := c.one("hunter2", "hunter3")
	c.what += "the BMC's password is " + password + ": "
	_, err := c.db.ClaimNode(c.Context(), c.node.UUID, "ann", share.Claimer{}, func(n *node.Node) (node.Secrets, error) {
		n.DriverInfo = map[string]any{"password": mask.Masked}
		return node.Secrets{"driver_info/password": password}, nil
	})
	require.NoError(c, err)
	c.book.secrets, c.book.node.OwedRefused = node.Secrets{"driver_info/password": password}, false
}

// conductorChanges starts a conductor, or lets one send a heartbeat, drain or stop.
func (c *comparison) conductorChanges() {
	name := c.one("k1", "k2", "k3")
	k := c.conductors[name]
	var err error
	switch what := c.one("start", "beat", "drain", "stop"); {
	case what == "start" || k.Incarnation == 0 || k.StoppedAt != nil:
		c.what += name + " starts: "
		started := coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{
			c.one("fake-hardware", "fake-hardware", "redfish"): {"power": {"fake"}, "deploy": {"fake"}},
		}}
		_, err = c.db.RegisterConductor(c.Context(), started)
	case what == "beat":
		c.what += name + " sends a heartbeat: "
		_, err = c.db.HeartbeatConductor(c.Context(), name, k.Incarnation, true)
	case what == "drain":
		c.what += name + " drains: "
		err = c.db.DrainConductor(c.Context(), name, k.Incarnation)
	case what == "stop":
		c.what += name + " stops: "
		err = c.db.StopConductor(c.Context(), name, k.Incarnation)
	}
	require.NoError(c, err)
	k, err = c.db.Conductor(c.Context(), name)
	require.NoError(c, err)
	c.conductors[name] = k
	heard := sign{incarnation: k.Incarnation, at: k.HeartbeatAt}
	if k.StoppedAt != nil {
		heard.at = *k.StoppedAt
	}
	c.book.heard[name] = heard
	c.book.hosts = slices.DeleteFunc(c.book.hosts, func(h node.Host) bool { return h.Name == name })
	if k.Interfaces["fake-hardware"] != nil && !k.Draining {
		c.book.hosts = append(c.book.hosts, node.Host{Name: name, Incarnation: k.Incarnation})
		slices.SortFunc(c.book.hosts, func(a, b node.Host) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// conductorDies records the death of a process of a conductor: the newest one, or the one before.
func (c *comparison) conductorDies() {
	name := c.one("k1", "k2", "k3")
	k := c.conductors[name]
	d := node.Death{Conductor: name, Incarnation: k.Incarnation - int64(c.IntN(2)), At: k.HeartbeatAt}
	c.what += fmt.Sprintf("%+v: ", d)
	c.deaths = append(c.deaths, d)
}

// rows is the content of an operation's row and of its node's.
type rows struct {
	State, LastError, WaitingFor, Conductor, BootMode string
	Power, TargetPower                                node.PowerState
	Internal, Properties                              map[string]any
	Phase                                             node.Phase
	Asked                                             node.Ask
	Claim                                             node.Claim
	Rests, Refused                                    bool
	Steps                                             []string
	Undo, Owed                                        []node.Undo
	OwedError, Agent                                  string
	Pause                                             node.PauseOf
	Seen                                              string // of what the step waits for
}

func rowsOf(t *testing.T, r conductor.OperationStore, uuid string) rows {
	t.Helper()
	n, err := r.Node(t.Context(), uuid)
	require.NoError(t, err)
	o := n.Operation
	out := rows{
		State: string(n.ProvisionState), Power: n.PowerState, TargetPower: n.TargetPowerState, BootMode: n.BootMode, LastError: n.LastError, WaitingFor: o.WaitingFor, Conductor: o.Conductor,
		Phase: o.Phase, Asked: o.Asked, Claim: o.Claim, Rests: o.Rests, Refused: n.OwedRefused, OwedError: n.OwedError,
		Undo: append([]node.Undo{}, o.Undo...), Owed: append([]node.Undo{}, n.Owed...),
	}
	out.Internal, out.Properties = maps.Clone(n.DriverInternalInfo), maps.Clone(n.Properties)
	for _, s := range o.Steps {
		out.Steps = append(out.Steps, fmt.Sprintf("%s %s %d", s.Name(), s.State, s.Failures))
	}
	if o.StepWait != nil {
		out.Seen = o.StepWait.Seen
	}
	if o.TemporalPause != nil {
		out.Pause = o.TemporalPause.What
	}
	if n.Agent != nil {
		out.Agent = n.Agent.URL
	}
	return out
}
