package activities_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// book is an in-memory database of one node. TestABookDoesWhatTheStoreDoes compares it with the store.
type book struct {
	mu          sync.Mutex
	node        node.Node
	op          node.Operation
	saves       int
	told        []node.Wait // what was told beside saves,
	toldAt      []time.Time // and when; savedAt is when something was saved last
	savedAt     time.Time
	tells       int                            // also those that were refused
	onTell      func(n int, w node.Wait) error // called before each tell with its number, from 1; its error is the answer
	token       string                         // of the node's agent; "" = "token"
	ports       []node.Port
	events      []node.Event
	hosts       []node.Host    // that cover the node
	inventory   map[string]any // what the agent sent
	plugin      map[string]any // what else the agent sent with it
	noInventory error          // of reading these two
	secrets     node.Secrets
	sealed      error           // why the secrets can't be read
	clock       time.Time       // the database's
	empty       bool            // nothing was written under the claim yet
	dead        map[string]bool // conductors that died
	heard       map[string]sign // the newest signs of life of conductors
	lived       time.Duration   // how long a conductor lives after its claim
	gone        bool            // the database can't be reached

	inspected node.Inspection
	// onSave is called before each save with its number, from 1.
	onSave func(n int)

	started time.Time // the attempt that has the claim

	flight      node.BMCRequest // the last request to the BMC; Left is what was left when it was recorded,
	flightUntil time.Time       // and this is when that is over
	sent        int64           // requests that were recorded
	onRequest   func() error    // called before a request is recorded; its error is the answer

	silence *node.BMCSilence // of the node's BMC
}

func (b *book) BMCSilent(_ context.Context, _ int64, s node.BMCSilence, pause time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	s.AskedAt, s.NextAt, s.Asking = now, now.Add(pause), false
	if b.silence != nil && b.silence.BMC == s.BMC {
		s.Since = b.silence.Since
	}
	b.silence = &s
	return nil
}

func (b *book) AskSilentBMC(_ context.Context, bmc, conductor string, within time.Duration, now bool) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.silence
	if s == nil || s.BMC != bmc {
		return 0, nil
	}
	if left := time.Until(s.NextAt); left > 0 && !now {
		return left, nil
	}
	s.Asking = true
	s.AskedAt, s.AskedBy, s.NextAt = time.Now(), conductor, time.Now().Add(within)
	return 0, nil
}

func (b *book) BMCAnswered(_ context.Context, _ int64, bmc string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.silence != nil && b.silence.BMC == bmc {
		b.silence = nil
	}
	return nil
}

// sign is a sign of life of a process of a conductor.
type sign struct {
	incarnation int64
	at          time.Time
}

func newBook(n node.Node, op node.Operation) *book {
	op.RunID, op.Phase = "default-test-run-id", cmp.Or(op.Phase, node.Running)
	return &book{node: n, op: op, clock: time.Now().UTC(), dead: map[string]bool{}, heard: map[string]sign{}}
}

func (b *book) Claim(_ context.Context, _ int64, _ string, c node.Claim, started time.Time, conductor string) (*node.Node, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	later := c.Seq == b.op.Claim.Seq && !b.started.IsZero() && started.After(b.started)
	if b.op.EndedAt != nil || !newer(c, b.op.Claim) && !later {
		return nil, fault.New(fault.Lost, "claim %v is not newer than %v", c, b.op.Claim)
	}
	if !newer(c, b.op.Claim) {
		c.Attempt = b.op.Claim.Attempt + 1000
	}
	if p := b.op.TemporalPause; p != nil && (b.op.Claim.Seq < c.Seq || p.What == node.PauseOfActivity) {
		b.op.TemporalPause = nil
	}
	b.started = started
	var former *node.FormerConductor
	if b.empty && b.dead[b.op.Conductor] {
		former = &node.FormerConductor{
			Conductor: b.op.Conductor, ClaimedAt: *b.op.ClaimedAt, SeenAt: b.op.ClaimedAt.Add(b.lived), Replaced: true, Undoing: b.op.Phase == node.Undoing,
		}
	}
	now := b.clock
	b.op.Claim, b.op.Conductor, b.op.ClaimedAt, b.empty = c, conductor, &now, true
	n, op := b.node, b.op
	if n.Silence = nil; b.silence != nil {
		s := *b.silence
		n.Silence = &s
	}
	op.Former = former
	op.AnswerWithin, op.RequestsSent, op.InFlight = b.flight.AnswerWithin, b.sent, nil
	if left := time.Until(b.flightUntil); left > 0 {
		op.InFlight = &node.BMCRequest{Name: b.flight.Name, Conductor: b.flight.Conductor, Repeated: b.flight.Repeated, Left: left}
	}
	op.Steps = copied(op.Steps)
	n.Operation = &op
	return &n, nil
}

// errGone is the error for a conductor that counts as dead.
var errGone = fault.New(fault.Lost, "nobody hears it")

func (b *book) StillDead(_ context.Context, deaths []node.Death) ([]node.Death, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(deaths), func(d node.Death) bool {
		s, known := b.heard[d.Conductor]
		return known && s.incarnation == d.Incarnation && s.at.After(d.At)
	}), nil
}

func newer(a, b node.Claim) bool {
	return a.Seq > b.Seq || a.Seq == b.Seq && a.Attempt > b.Attempt
}

func (b *book) CheckClaim(_ context.Context, _ int64, c node.Claim) (node.Ask, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return "", errGone
	}
	if c != b.op.Claim {
		return "", fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	return b.op.PendingAsk(), nil
}

func (b *book) StartRequest(ctx context.Context, id int64, c node.Claim, r node.BMCRequest) (node.Ask, error) {
	ask, err := b.CheckClaim(ctx, id, c)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && b.onRequest != nil {
		err = b.onRequest()
	}
	if err == nil {
		r.Conductor = b.op.Conductor
		b.flight, b.flightUntil = r, time.Now().Add(r.Left)
		b.sent++
	}
	return ask, err
}

func (b *book) TellWait(_ context.Context, _ int64, c node.Claim, w *node.Wait) (node.Ask, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return "", errGone
	}
	if c != b.op.Claim {
		return "", fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	b.tells++
	if b.onTell != nil {
		if err := b.onTell(b.tells, *w); err != nil {
			return "", err
		}
	}
	told := *w
	b.op.StepWait = &told
	b.toldAt = append(b.toldAt, time.Now())
	b.told = append(b.told, told)
	return b.op.PendingAsk(), nil
}

func (b *book) HandOver(_ context.Context, _ int64, c node.Claim, p *node.Pause, known node.Progress) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c != b.op.Claim {
		return fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	if known.InFlight != nil {
		b.flight.Repeated, b.flightUntil = known.InFlight.Repeated, time.Now().Add(known.InFlight.Left)
	}
	b.op.Rests, b.empty = true, false
	if b.op.TemporalPause == nil {
		b.op.TemporalPause = p
	}
	return nil
}

func (b *book) SaveSteps(_ context.Context, _ int64, c node.Claim, p node.Progress) (node.Ask, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return "", errGone
	}
	b.saves++
	b.savedAt = time.Now()
	if b.onSave != nil {
		b.onSave(b.saves)
	}
	if c != b.op.Claim {
		return "", fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	if p.Move != "" {
		n := b.node
		n.Operation = &b.op
		moved, err := node.Move(&n, p.Move)
		if err != nil {
			return "", err
		}
		moved.Apply(&b.node, b.clock)
		b.events = append(b.events, p.Move)
	}
	if p.ClearAgent {
		b.node.Agent = nil
	}
	if p.InFlight != nil {
		b.flight.Repeated, b.flightUntil = p.InFlight.Repeated, time.Now().Add(p.InFlight.Left)
	}
	if p.AnswerWithin > 0 {
		b.flight.AnswerWithin = p.AnswerWithin
	}
	b.node.ClearOwed(p.OwedDone)
	b.node.OwedRefused = len(b.node.Owed) > 0 && (b.node.OwedRefused || p.Refused)
	if p.LastError != "" {
		b.node.LastError = p.LastError
	}
	if p.Power != "" {
		b.node.PowerState = p.Power
	}
	if p.StepWait != nil { // the step goes on changing it
		w := *p.StepWait
		p.StepWait = &w
	}
	if p.BootMode != "" {
		b.node.BootMode = p.BootMode
	}
	if p.Internal != nil {
		b.node.DriverInternalInfo = maps.Clone(b.node.DriverInternalInfo)
		if b.node.DriverInternalInfo == nil {
			b.node.DriverInternalInfo = map[string]any{}
		}
		maps.Copy(b.node.DriverInternalInfo, p.Internal)
	}
	if p.ClearAsk {
		b.node.TargetPowerState = ""
	}
	p.Steps, b.empty = copied(p.Steps), b.empty && !p.Came
	if err := b.op.Record(p); err != nil {
		return "", err
	}
	return b.op.PendingAsk(), nil
}

// SaveInspection makes any number of ports.
func (b *book) SaveInspection(_ context.Context, _ int64, c node.Claim, i node.Inspection) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c != b.op.Claim {
		return 0, fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	b.node.Properties, b.inspected = maps.Clone(b.node.Properties), i
	if b.node.Properties == nil {
		b.node.Properties = map[string]any{}
	}
	maps.Copy(b.node.Properties, i.Properties)
	b.node.BootMode = cmp.Or(i.BootMode, b.node.BootMode)
	for _, p := range slices.SortedFunc(slices.Values(i.Ports), func(p, q node.Port) int { return cmp.Compare(p.Address, q.Address) }) {
		if !slices.ContainsFunc(b.ports, func(had node.Port) bool { return had.Address == p.Address }) {
			b.ports = append(b.ports, p)
		}
	}
	if i.Inventory != nil {
		b.inventory, b.plugin = i.Inventory, i.PluginData
	}
	return 0, nil
}

// Credentials has the token of the agent, too: it is one of the node's secrets.
func (b *book) Credentials(ctx context.Context, n *node.Node) (node.Secrets, error) {
	out := node.Secrets{}
	maps.Copy(out, b.secrets)
	if token, err := b.AgentToken(ctx, n.UUID); err == nil {
		out["agent_token"] = token
	}
	return out, b.sealed
}

func (b *book) AgentToken(context.Context, string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.node.Agent == nil {
		return "", fault.New(fault.NotFound, "the node has no agent token")
	}
	return cmp.Or(b.token, "token"), nil
}

func (b *book) NodePorts(context.Context, string) ([]node.Port, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ports), nil
}

func (b *book) Inventory(context.Context, string) (map[string]any, map[string]any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.noInventory != nil:
		return nil, nil, b.noInventory
	case b.inventory == nil:
		return nil, nil, fault.New(fault.NotFound, "the node has no inventory")
	}
	return b.inventory, b.plugin, nil
}

func (b *book) Covering(context.Context, string) ([]node.Host, error) {
	return b.hosts, nil
}

func (b *book) Node(context.Context, string) (*node.Node, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, op := b.node, b.op
	n.Operation = &op
	return &n, nil
}

// copied returns steps of which nobody else changes what they have sent.
func copied(steps []node.Step) []node.Step {
	steps = slices.Clone(steps)
	for i := range steps {
		if sent := steps[i].Issued; sent != nil {
			own := *sent
			steps[i].Issued = &own
		}
	}
	return steps
}
