package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// goodAnswers is how many good answers in a row a BMC that was silent has to give until what it says is believed: a BMC
// that restarts often shows states of before, or goes away once more.
const goodAnswers = 3

// steady reads from the BMC. If the BMC was silent before, it reads until it has goodAnswers in a row, and returns the last
// one; the first error ends that.
func steady[T any](ctx context.Context, t *task, read func() (T, error)) (T, error) {
	for good := 1; ; good++ {
		began := time.Now()
		v, err := read()
		t.Reach.heard(t.node.UUID, err)
		switch {
		case isSilence(err):
			t.silent, t.awaited = t.Settings.AwayTimeout > 0, time.Since(began)
			return v, err
		case err != nil || !t.silent:
			return v, err
		case good == goodAnswers:
			t.isBack(ctx)
			return v, nil
		}
		if err := sleep(ctx, t.Settings.PowerPoll); err != nil {
			return v, err
		}
	}
}

// bmcAnswered records that the BMC has answered while the step waits for the effect of a request, which may take long. If the
// BMC falls silent again later, that is another silence.
func (t *task) bmcAnswered(ctx context.Context) error {
	if err := t.hardwareAnswered(ctx); err != nil {
		return err
	}
	step := t.op.CurrentStep()
	if t.undoes || step == nil || step.SilentSince == nil {
		return nil
	}
	step.SilentSince = nil
	return t.save(ctx)
}

// wasSilent reports whether the BMC was silent when the current step was tried last, or when any conductor asked it last.
func (t *task) wasSilent() bool {
	step := t.op.CurrentStep()
	return t.Settings.AwayTimeout > 0 && (step != nil && step.SilentSince != nil || t.node.SilentBMC() != nil)
}

// Inspect implements bmc.Inspector. It is many requests, so a BMC that has answered them is back.
func (a asker) Inspect(ctx context.Context) (bmc.Inventory, error) {
	began := time.Now()
	found, err := a.Session.Inspect(ctx)
	a.t.Reach.heard(a.t.node.UUID, err)
	switch {
	case err == nil:
		a.t.isBack(ctx)
	case isSilence(err):
		a.t.awaited = time.Since(began)
	}
	return found, err
}

// Power implements bmc.PowerControl.
func (a asker) Power(ctx context.Context) (bmc.Power, error) {
	return steady(ctx, a.t, func() (bmc.Power, error) { return a.Session.Power(a.t.listening(ctx)) })
}

// PasswordRule implements bmc.Accounts.
func (a asker) PasswordRule(ctx context.Context) (bmc.PasswordRule, error) {
	return steady(ctx, a.t, func() (bmc.PasswordRule, error) { return a.Session.PasswordRule(a.t.listening(ctx)) })
}

// Controllers implements bmc.Volumes.
func (a asker) Controllers(ctx context.Context) ([]bmc.Controller, error) {
	return steady(ctx, a.t, func() ([]bmc.Controller, error) { return a.Session.Controllers(a.t.listening(ctx)) })
}

// Task implements bmc.TaskReader.
func (a asker) Task(ctx context.Context, path string) (bmc.Task, error) {
	return steady(ctx, a.t, func() (bmc.Task, error) { return a.Session.Task(a.t.listening(ctx), path) })
}

// RunningTasks implements bmc.TaskReader.
func (a asker) RunningTasks(ctx context.Context) ([]string, error) {
	return steady(ctx, a.t, func() ([]string, error) { return a.Session.RunningTasks(a.t.listening(ctx)) })
}

// ReadClock implements bmc.Clock.
func (a asker) ReadClock(ctx context.Context) (time.Time, error) {
	return steady(ctx, a.t, func() (time.Time, error) { return a.Session.ReadClock(a.t.listening(ctx)) })
}

// BootMode implements bmc.BootModes.
func (a asker) BootMode(ctx context.Context) (m bmc.Mode, modes []bmc.Mode, err error) {
	m, err = steady(ctx, a.t, func() (m bmc.Mode, err error) {
		m, modes, err = a.Session.BootMode(a.t.listening(ctx))
		return m, err
	})
	return m, modes, err
}

// SecureBoot implements bmc.BootModes.
func (a asker) SecureBoot(ctx context.Context) (*bool, error) {
	return steady(ctx, a.t, func() (*bool, error) { return a.Session.SecureBoot(a.t.listening(ctx)) })
}

// ReadIndicators implements bmc.Indicators.
func (a asker) ReadIndicators(ctx context.Context) ([]node.Indicator, error) {
	return steady(ctx, a.t, func() ([]node.Indicator, error) { return a.Session.ReadIndicators(a.t.listening(ctx)) })
}

// ReadDrives implements bmc.MediaDrives.
func (a asker) ReadDrives(ctx context.Context, kind string) (media []bmc.Media, shown []node.MediaDrive, err error) {
	media, err = steady(ctx, a.t, func() (media []bmc.Media, err error) {
		media, shown, err = a.Session.ReadDrives(a.t.listening(ctx), kind)
		return media, err
	})
	return media, shown, err
}

// HasAccount implements bmc.Accounts.
func (a asker) HasAccount(ctx context.Context, user string) (bool, error) {
	return steady(ctx, a.t, func() (bool, error) { return a.Session.HasAccount(a.t.listening(ctx), user) })
}

// Boot implements bmc.BootDevice.
func (a asker) Boot(ctx context.Context) (bmc.Boot, error) {
	return steady(ctx, a.t, func() (bmc.Boot, error) { return a.Session.Boot(a.t.listening(ctx)) })
}

// BIOS implements bmc.BIOSControl.
func (a asker) BIOS(ctx context.Context) (bmc.BIOS, error) {
	return steady(ctx, a.t, func() (bmc.BIOS, error) { return a.Session.BIOS(a.t.listening(ctx)) })
}

// Firmware implements bmc.FirmwareControl.
func (a asker) Firmware(ctx context.Context) ([]bmc.FirmwareVersion, error) {
	return steady(ctx, a.t, func() ([]bmc.FirmwareVersion, error) { return a.Session.Firmware(a.t.listening(ctx)) })
}

// Media implements bmc.VirtualMedia.
func (a asker) Media(ctx context.Context) (bmc.Media, error) {
	return steady(ctx, a.t, func() (bmc.Media, error) { return a.Session.Media(a.t.listening(ctx)) })
}
