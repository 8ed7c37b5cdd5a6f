package activities_test

import (
	"context"
	"sync"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// book is the database of one node: it fences by claim as the store does.
type book struct {
	mu     sync.Mutex
	node   node.Node
	op     node.Operation
	saves  int
	events []node.Event
	hosts  []node.Host    // that cover the node
	plugin map[string]any // what the agent sent beside its inventory
	sealed error          // why the secrets can't be read
	// onSave is called with each save's number, from 1, before it is taken.
	onSave func(n int)
}

func newBook(n node.Node, op node.Operation) *book {
	op.RunID = "default-test-run-id"
	return &book{node: n, op: op}
}

func (b *book) Claim(_ context.Context, _ int64, _ string, c node.Claim, conductor string) (*node.Node, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.op.EndedAt != nil || !newer(c, b.op.Claim) {
		return nil, fault.New(fault.Lost, "claim %v is not newer than %v", c, b.op.Claim)
	}
	b.op.Claim, b.op.Conductor = c, conductor
	n, op := b.node, b.op
	op.Steps = append([]node.Step{}, op.Steps...)
	n.Operation = &op
	return &n, nil
}

func newer(a, b node.Claim) bool {
	return a.Seq > b.Seq || a.Seq == b.Seq && a.Attempt > b.Attempt
}

func (b *book) CheckClaim(_ context.Context, _ int64, c node.Claim) (node.Ask, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c != b.op.Claim {
		return "", fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	return b.told(), nil
}

// told is what the one at work is told to take up.
func (b *book) told() node.Ask {
	if b.op.Asked == node.AskNone && b.op.Paused {
		return node.AskPause
	}
	return b.op.Asked
}

func (b *book) PutDown(_ context.Context, _ int64, c node.Claim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c != b.op.Claim {
		return fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	b.op.Rests = true
	return nil
}

func (b *book) SaveSteps(_ context.Context, _ int64, c node.Claim, p node.Progress) (node.Ask, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saves++
	if b.onSave != nil {
		b.onSave(b.saves)
	}
	if c != b.op.Claim {
		return "", fault.New(fault.Lost, "claim %v is not the newest", c)
	}
	if p.Move != "" {
		to, err := node.Next(b.node.ProvisionState, p.Move)
		if err != nil {
			return "", err
		}
		b.node.ProvisionState = to
		b.events = append(b.events, p.Move)
	}
	if p.ClearAgent {
		b.node.Agent = nil
	}
	if p.ClearOwed {
		b.node.Owed = nil
	}
	if p.ClearAsk {
		b.op.Asked = node.AskNone
	}
	if p.LastError != "" {
		b.node.LastError = p.LastError
	}
	if p.Power != "" {
		b.node.PowerState = p.Power
	}
	b.op.Steps = append([]node.Step{}, p.Steps...)
	b.op.Rests = p.Rests
	b.op.Undo, b.op.WaitingFor, b.op.WaitingUntil = p.Undo, p.WaitingFor, p.WaitingUntil
	return b.told(), nil
}

func (b *book) SaveInspection(_ context.Context, _ int64, _ node.Claim, i node.Inspection) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.node.Properties = i.Properties
	return nil
}

func (b *book) Credentials(context.Context, string) (node.Secrets, error) { return nil, b.sealed }
func (b *book) AgentToken(context.Context, string) (string, error)        { return "token", nil }
func (b *book) NodePorts(context.Context, string) ([]node.Port, error)    { return nil, nil }
func (b *book) Inventory(context.Context, string) (map[string]any, map[string]any, error) {
	return nil, b.plugin, nil
}

func (b *book) Covering(context.Context, string, string, map[string]string) ([]node.Host, error) {
	return b.hosts, nil
}

func (b *book) Node(context.Context, string) (*node.Node, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, op := b.node, b.op
	n.Operation = &op
	return &n, nil
}

// machine is a server with a BMC that counts what it is asked.
type machine struct {
	mu     sync.Mutex
	power  bmc.Power
	boot   bmc.Boot
	media  bmc.Media
	asked  []bmc.PowerRequest
	pulses []bmc.Pulse
	writes int
	opened int
	silent bool                                                   // gets no answer out
	answer func(r bmc.PowerRequest) (takesEffect bool, err error) // nil = obeys
}

func (m *machine) Validate(map[string]any) error { return nil }
func (m *machine) Properties() map[string]string { return nil }
func (m *machine) Close(context.Context)         {}
func (m *machine) Open(_ context.Context, t bmc.Target) (bmc.Session, error) {
	m.opened++
	return &session{machine: m, guard: t.Guard}, nil
}

type session struct {
	*machine
	guard func(context.Context) error
}

func (s *session) write(ctx context.Context) error {
	if err := s.guard(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return nil
}

func (s *session) Power(context.Context) (bmc.Power, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return "", fault.New(fault.Unreachable, "node: %w", fault.Silence("no answer in time"))
	}
	return s.power, nil
}

func (s *session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	effect, err := true, error(nil)
	if s.answer != nil {
		effect, err = s.answer(r)
	}
	if effect {
		s.power = bmc.PowerOff
		if r == bmc.RequestOn {
			s.power = bmc.PowerOn
			if !s.boot.Persistent {
				s.boot.Device = bmc.DeviceNone
			}
		}
	}
	return err
}

func (s *session) Pulse(ctx context.Context, p bmc.Pulse) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	s.pulses = append(s.pulses, p)
	return nil
}

func (s *session) Boot(context.Context) (bmc.Boot, error) { return s.boot, nil }
func (s *session) SetBoot(ctx context.Context, b bmc.Boot) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	s.boot = b
	return nil
}
func (s *session) BootDevices(context.Context) ([]bmc.Device, error) { return nil, nil }
func (s *session) Media(context.Context) (bmc.Media, error)          { return s.media, nil }
func (s *session) InsertMedia(ctx context.Context, url string) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	s.media = bmc.Media{Inserted: true, Image: url}
	return nil
}

func (s *session) EjectMedia(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	s.media = bmc.Media{}
	return nil
}
func (s *session) Inspect(context.Context) (bmc.Inventory, error) { return bmc.Inventory{}, nil }
func (s *session) Health(context.Context) (bmc.Health, error)     { return "ok", nil }
func (s *session) Close()                                         {}
