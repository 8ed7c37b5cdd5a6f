package wrap

import (
	"context"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
)

// around stops before a request is sent, and when it was answered.
func around(ctx context.Context, request string, send func() error) error {
	placeIn(ctx).stop(ctx, chaos.Request, request)
	err := send()
	placeIn(ctx).stop(ctx, chaos.Answered, request)
	return err
}

// looked stops after something was read.
func looked(ctx context.Context, what string) { placeIn(ctx).stop(ctx, chaos.Looked, what) }

// Drivers stop around each request to a BMC.
func Drivers(all map[string]bmc.Driver) map[string]bmc.Driver {
	out := make(map[string]bmc.Driver, len(all))
	for name, d := range all {
		out[name] = driver{d}
	}
	return out
}

type driver struct{ bmc.Driver }

// Open is bmc.Driver's.
func (d driver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	s, err := d.Driver.Open(ctx, t)
	if err != nil {
		return bmc.Session{}, err
	}
	in, out := session{s}, s
	if s.PowerControl != nil {
		out.PowerControl = in
	}
	if s.Restarter != nil {
		out.Restarter = in
	}
	if s.BootDevice != nil {
		out.BootDevice = in
	}
	if s.VirtualMedia != nil {
		out.VirtualMedia = in
	}
	if s.Inspector != nil {
		out.Inspector = in
	}
	return out, nil
}

// session has the capabilities of a conversation, each with points around its requests.
type session struct{ bmc.Session }

// Power is bmc.PowerControl's.
func (s session) Power(ctx context.Context) (bmc.Power, error) {
	p, err := s.Session.Power(ctx)
	looked(ctx, "power")
	return p, err
}

// Inspect is bmc.Inspector's.
func (s session) Inspect(ctx context.Context) (bmc.Inventory, error) {
	inv, err := s.Session.Inspect(ctx)
	looked(ctx, "inventory")
	return inv, err
}

// RequestPower is bmc.PowerControl's.
func (s session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	return around(ctx, string(r), func() error { return s.Session.RequestPower(ctx, r) })
}

// Restart is bmc.Restarter's.
func (s session) Restart(ctx context.Context) error {
	return around(ctx, bmc.ForceRestart, func() error { return s.Session.Restart(ctx) })
}

// SetBoot is bmc.BootDevice's.
func (s session) SetBoot(ctx context.Context, b bmc.Boot) error {
	return around(ctx, "boot "+string(b.Device), func() error { return s.Session.SetBoot(ctx, b) })
}

// InsertMedia is bmc.VirtualMedia's.
func (s session) InsertMedia(ctx context.Context, url string) error {
	return around(ctx, "insert", func() error { return s.Session.InsertMedia(ctx, url) })
}

// EjectMedia is bmc.VirtualMedia's.
func (s session) EjectMedia(ctx context.Context) error {
	return around(ctx, "eject", func() error { return s.Session.EjectMedia(ctx) })
}

// openAgent is Steps.OpenAgent.
type openAgent = func(agent.Target, agent.Settings) (conductor.Agent, error)

// Agents stop around each request to a ramdisk agent.
func Agents(open openAgent) openAgent {
	return func(t agent.Target, s agent.Settings) (conductor.Agent, error) {
		a, err := open(t, s)
		if err != nil {
			return nil, err
		}
		return ramdisk{a}, nil
	}
}

type ramdisk struct{ conductor.Agent }

// Start is conductor.Agent's.
func (r ramdisk) Start(ctx context.Context, command string, params any) (res agent.Result, err error) {
	err = around(ctx, command, func() (err error) {
		res, err = r.Agent.Start(ctx, command, params)
		return err
	})
	return res, err
}

// ListSteps is conductor.Agent's.
func (r ramdisk) ListSteps(ctx context.Context, f agent.Family, about agent.ListSteps) (agent.StepLists, error) {
	lists, err := r.Agent.ListSteps(ctx, f, about)
	if err == nil {
		looked(ctx, "steps")
	}
	return lists, err
}
