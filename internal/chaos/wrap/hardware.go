package wrap

import (
	"context"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
)

// stopAround stops before a request is sent, and after it was answered.
func stopAround(ctx context.Context, request string, send func() error) error {
	positionIn(ctx).stop(ctx, chaos.Request, request)
	err := send()
	positionIn(ctx).stop(ctx, chaos.Answered, request)
	return err
}

// stopAfterRead stops after something was read.
func stopAfterRead(ctx context.Context, what string) { positionIn(ctx).stop(ctx, chaos.Looked, what) }

// Drivers wraps drivers so that they stop around each request to a BMC.
func Drivers(all map[string]bmc.Driver) map[string]bmc.Driver {
	out := make(map[string]bmc.Driver, len(all))
	for name, d := range all {
		out[name] = driver{d}
	}
	return out
}

type driver struct{ bmc.Driver }

// Open implements bmc.Driver.
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
	if s.Interrupter != nil {
		out.Interrupter = in
	}
	if s.Volumes != nil {
		out.Volumes = in
	}
	if s.BIOSControl != nil {
		out.BIOSControl = in
	}
	if s.BootModes != nil {
		out.BootModes = in
	}
	if s.Indicators != nil {
		out.Indicators = in
	}
	if s.MediaDrives != nil {
		out.MediaDrives = in
	}
	if s.DriveEjector != nil {
		out.DriveEjector = in
	}
	if s.Subscriber != nil {
		out.Subscriber = in
	}
	if s.Accounts != nil {
		out.Accounts = in
	}
	return out, nil
}

// session implements all capabilities of a conversation, with points around the requests.
type session struct{ bmc.Session }

// Power implements bmc.PowerControl.
func (s session) Power(ctx context.Context) (bmc.Power, error) {
	p, err := s.Session.Power(ctx)
	stopAfterRead(ctx, "power")
	return p, err
}

// Inspect implements bmc.Inspector.
func (s session) Inspect(ctx context.Context) (bmc.Inventory, error) {
	inv, err := s.Session.Inspect(ctx)
	stopAfterRead(ctx, "inventory")
	return inv, err
}

// RequestPower implements bmc.PowerControl.
func (s session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	return stopAround(ctx, string(r), func() error { return s.Session.RequestPower(ctx, r) })
}

// Restart implements bmc.Restarter.
func (s session) Restart(ctx context.Context) error {
	return stopAround(ctx, bmc.ForceRestart, func() error { return s.Session.Restart(ctx) })
}

// InjectNMI implements bmc.Interrupter.
func (s session) InjectNMI(ctx context.Context) error {
	return stopAround(ctx, bmc.NameNMI, func() error { return s.Session.InjectNMI(ctx) })
}

// SetBoot implements bmc.BootDevice.
func (s session) SetBoot(ctx context.Context, b bmc.Boot) error {
	return stopAround(ctx, "boot "+string(b.Device), func() error { return s.Session.SetBoot(ctx, b) })
}

// InsertMedia implements bmc.VirtualMedia.
func (s session) InsertMedia(ctx context.Context, url string) error {
	return stopAround(ctx, "insert", func() error { return s.Session.InsertMedia(ctx, url) })
}

// EjectMedia implements bmc.VirtualMedia.
func (s session) EjectMedia(ctx context.Context) error {
	return stopAround(ctx, "eject", func() error { return s.Session.EjectMedia(ctx) })
}

// EjectDrives implements bmc.DriveEjector.
func (s session) EjectDrives(ctx context.Context, kind string) error {
	return stopAround(ctx, bmc.NameEjectDrives(kind), func() error { return s.Session.EjectDrives(ctx, kind) })
}

// CreateSubscription implements bmc.Subscriber.
func (s session) CreateSubscription(ctx context.Context, want node.EventSubscription, headers []any) (made bmc.Subscription, err error) {
	err = stopAround(ctx, bmc.NameSubscribe, func() (err error) {
		made, err = s.Session.CreateSubscription(ctx, want, headers)
		return err
	})
	return made, err
}

// DeleteSubscription implements bmc.Subscriber.
func (s session) DeleteSubscription(ctx context.Context, id string) error {
	return stopAround(ctx, bmc.NameUnsubscribe(id), func() error { return s.Session.DeleteSubscription(ctx, id) })
}

// SetBIOS implements bmc.BIOSControl. The settings are not in the name.
func (s session) SetBIOS(ctx context.Context, values map[string]any) error {
	return stopAround(ctx, "set BIOS settings", func() error { return s.Session.SetBIOS(ctx, values) })
}

// ResetBIOS implements bmc.BIOSControl.
func (s session) ResetBIOS(ctx context.Context) error {
	return stopAround(ctx, bmc.NameResetBIOS, func() error { return s.Session.ResetBIOS(ctx) })
}

// CreateVolume implements bmc.Volumes.
func (s session) CreateVolume(ctx context.Context, v bmc.NewVolume) (task string, err error) {
	err = stopAround(ctx, bmc.NameCreateVolume, func() (err error) {
		task, err = s.Session.CreateVolume(ctx, v)
		return err
	})
	return task, err
}

// DeleteVolume implements bmc.Volumes. The paths of volumes differ between BMCs, so they are not in the name.
func (s session) DeleteVolume(ctx context.Context, path string) (task string, err error) {
	err = stopAround(ctx, "delete a volume", func() (err error) {
		task, err = s.Session.DeleteVolume(ctx, path)
		return err
	})
	return task, err
}

// SetBootMode implements bmc.BootModes.
func (s session) SetBootMode(ctx context.Context, m bmc.Mode) error {
	return stopAround(ctx, bmc.NameBootMode(m), func() error { return s.Session.SetBootMode(ctx, m) })
}

// SetSecureBoot implements bmc.BootModes.
func (s session) SetSecureBoot(ctx context.Context, on bool) error {
	return stopAround(ctx, bmc.NameSecureBoot(on), func() error { return s.Session.SetSecureBoot(ctx, on) })
}

// SetIndicator implements bmc.Indicators.
func (s session) SetIndicator(ctx context.Context, component, name, state string) error {
	return stopAround(ctx, "light "+state, func() error { return s.Session.SetIndicator(ctx, component, name, state) })
}

// AttachMedia implements bmc.MediaDrives.
func (s session) AttachMedia(ctx context.Context, kind, url string) error {
	return stopAround(ctx, "attach "+kind, func() error { return s.Session.AttachMedia(ctx, kind, url) })
}

// PasswordRule implements bmc.Accounts.
func (s session) PasswordRule(ctx context.Context) (bmc.PasswordRule, error) {
	rule, err := s.Session.PasswordRule(ctx)
	stopAfterRead(ctx, "passwords")
	return rule, err
}

// SetPassword implements bmc.Accounts. Points do not tell operations apart, so the mark is not in the name.
func (s session) SetPassword(ctx context.Context, user string, p bmc.NewPassword) error {
	return stopAround(ctx, "password of "+user, func() error { return s.Session.SetPassword(ctx, user, p) })
}

// AddAccount implements bmc.Accounts.
func (s session) AddAccount(ctx context.Context, user string, p bmc.NewPassword) error {
	return stopAround(ctx, bmc.NameAddAccount(user), func() error { return s.Session.AddAccount(ctx, user, p) })
}

// RemoveAccount implements bmc.Accounts.
func (s session) RemoveAccount(ctx context.Context, user string) error {
	return stopAround(ctx, bmc.NameRemoveAccount(user), func() error { return s.Session.RemoveAccount(ctx, user) })
}

// openAgent is the type of conductor.Steps.OpenAgent.
type openAgent = func(agent.Target, agent.Settings) (conductor.Agent, error)

// Agents wraps open so that the agents stop around each request.
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

// Start implements conductor.Agent.
func (r ramdisk) Start(ctx context.Context, command string, params any) (res agent.Result, err error) {
	err = stopAround(ctx, command, func() (err error) {
		res, err = r.Agent.Start(ctx, command, params)
		return err
	})
	return res, err
}

// ListSteps implements conductor.Agent.
func (r ramdisk) ListSteps(ctx context.Context, f agent.Family, about agent.ListSteps) (agent.StepLists, error) {
	lists, err := r.Agent.ListSteps(ctx, f, about)
	if err == nil {
		stopAfterRead(ctx, "steps")
	}
	return lists, err
}
