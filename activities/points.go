package activities

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
)

// at is a point at which a test may stop this conductor. request is what is sent or read.
func (t *task) at(ctx context.Context, point, request string) {
	if !chaos.On {
		return
	}
	p := chaos.Point{Name: point, Operation: t.op.ID, Node: t.node.UUID, Request: request}
	if step := t.op.CurrentStep(); t.undoes {
		p.Step = chaos.Undo
	} else if step != nil {
		p.Step = step.Name()
	}
	chaos.At(ctx, p)
}

// at is a point at which a test may stop this orchestrator.
func (a *Operations) at(ctx context.Context, point string, operation int64) {
	if !chaos.On {
		return
	}
	if o, err := a.Ledger.Operation(ctx, operation); err == nil {
		chaos.At(ctx, chaos.Point{Name: point, Operation: operation, Node: o.NodeUUID})
	}
}

// phase is how far the present step was when somebody left it.
func (t *task) phase() string {
	if step := t.op.CurrentStep(); step != nil {
		return step.Phase
	}
	return ""
}

// stoppable is a conversation with points around each request. Nothing else may know that it is there.
type stoppable struct {
	bmc.Session
	t *task
}

func (s stoppable) around(ctx context.Context, request string, send func() error) error {
	s.t.at(ctx, chaos.Request, request)
	err := send()
	s.t.at(ctx, chaos.Answered, request)
	return err
}

// Power is bmc.Session's.
func (s stoppable) Power(ctx context.Context) (bmc.Power, error) {
	p, err := s.Session.Power(ctx)
	s.t.at(ctx, chaos.Looked, "power")
	return p, err
}

// Inspect is bmc.Session's.
func (s stoppable) Inspect(ctx context.Context) (bmc.Inventory, error) {
	inv, err := s.Session.Inspect(ctx)
	s.t.at(ctx, chaos.Looked, "inventory")
	return inv, err
}

// RequestPower is bmc.Session's.
func (s stoppable) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	return s.around(ctx, string(r), func() error { return s.Session.RequestPower(ctx, r) })
}

// Pulse is bmc.Session's.
func (s stoppable) Pulse(ctx context.Context, p bmc.Pulse) error {
	return s.around(ctx, string(p), func() error { return s.Session.Pulse(ctx, p) })
}

// SetBoot is bmc.Session's.
func (s stoppable) SetBoot(ctx context.Context, b bmc.Boot) error {
	return s.around(ctx, "boot "+string(b.Device), func() error { return s.Session.SetBoot(ctx, b) })
}

// InsertMedia is bmc.Session's.
func (s stoppable) InsertMedia(ctx context.Context, url string) error {
	return s.around(ctx, "insert", func() error { return s.Session.InsertMedia(ctx, url) })
}

// EjectMedia is bmc.Session's.
func (s stoppable) EjectMedia(ctx context.Context) error {
	return s.around(ctx, "eject", func() error { return s.Session.EjectMedia(ctx) })
}
