package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
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

// HasAccount implements bmc.Accounts.
func (a asker) HasAccount(ctx context.Context, user string) (bool, error) {
	return steady(ctx, a.t, func() (bool, error) { return a.Session.HasAccount(a.t.listening(ctx), user) })
}

// Boot implements bmc.BootDevice.
func (a asker) Boot(ctx context.Context) (bmc.Boot, error) {
	return steady(ctx, a.t, func() (bmc.Boot, error) { return a.Session.Boot(a.t.listening(ctx)) })
}

// Media implements bmc.VirtualMedia.
func (a asker) Media(ctx context.Context) (bmc.Media, error) {
	return steady(ctx, a.t, func() (bmc.Media, error) { return a.Session.Media(a.t.listening(ctx)) })
}
