package conductor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// applyBIOS changes BIOS settings and boots the server, which applies them. It looks first: a server that has them is left as it is.
func applyBIOS(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	asked, err := node.BIOSOrder(t.stepArgs(step)[node.ArgSettings])
	if err != nil {
		return 0, err
	}
	control, err := t.biosControl(ctx)
	if err != nil {
		return 0, err
	}
	if step.Written == nil {
		b, err := control.BIOS(ctx)
		if err != nil {
			return 0, err
		}
		want, err := biosWanted(b, asked)
		if err != nil {
			return 0, err
		}
		if shows(b, want) && !contradicts(b.Pending, want) {
			return done, t.keepBIOS(ctx, b)
		}
		if err := t.writeBIOS(ctx, step, control, want); err != nil {
			return 0, err
		}
	}
	out, err := t.bootToApply(ctx, step)
	if err != nil || out != done {
		return out, err
	}
	return done, t.watchBIOS(ctx, step, control, asked)
}

// resetBIOS sets the maker's defaults. Repeating the request changes nothing more, and when the server has booted it is not sent again.
func resetBIOS(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	control, err := t.biosControl(ctx)
	if err != nil {
		return 0, err
	}
	if step.Written == nil {
		if err := control.ResetBIOS(ctx); err != nil {
			return 0, refusedAs(fault.BIOSSettingRefused, err)
		}
		if err := t.noteWritten(ctx, step); err != nil {
			return 0, err
		}
	}
	out, err := t.bootToApply(ctx, step)
	if err != nil || out != done {
		return out, err
	}
	if !t.agentRuns(step) {
		if err := t.awaitFirmware(ctx, step); err != nil {
			return 0, err
		}
	}
	b, err := control.BIOS(ctx)
	if err != nil {
		return 0, err
	}
	return done, t.keepBIOS(ctx, b)
}

// awaitFirmware waits until the firmware of a server that was switched on has tested the hardware, because the BMC shows the old settings
// until then. A BMC that does not show that gets a fixed time. The first look is late: before, it may show how the boot before has ended.
func (t *task) awaitFirmware(ctx context.Context, step *node.Step) error {
	s, err := t.powerControl(ctx)
	if err != nil {
		return err
	}
	limit := t.Settings.BIOSBoot
	if t.reportsBootProgress() {
		limit = t.Settings.BIOSTimeout
	}
	until := time.Now().Add(limit).UTC()
	t.waitFor(node.Wait{For: node.WaitBIOS, Subject: "of the maker", Since: *step.Written, Until: &until, Every: t.Settings.BIOSPoll})
	pause := t.Settings.BIOSPoll
	for time.Now().Before(until) {
		if err := t.tell(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, min(pause, max(time.Until(until), 0))); err != nil {
			return err
		}
		_, err := t.readPower(ctx, s)
		switch {
		case err == nil && bmc.HasTestedItself(t.bootProgress()):
			t.arrived()
			return nil
		case err == nil:
			t.saw("boot progress " + cmp.Or(t.bootProgress(), "unknown"))
		default:
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return err
			}
		}
		pause = max(t.Settings.BIOSPoll, bmc.RetryAfter(err))
	}
	t.arrived()
	return nil
}

// writeBIOS has the next boot change the settings, unless the BMC shows that it does so already, and notes that on the step.
func (t *task) writeBIOS(ctx context.Context, step *node.Step, control bmc.BIOSControl, want map[string]any) error {
	b, err := control.BIOS(ctx)
	if err != nil {
		return err
	}
	if !promises(b, want) {
		if err := control.SetBIOS(ctx, want); err != nil {
			return err
		}
	}
	return t.noteWritten(ctx, step)
}

// noteWritten notes that what the step has written waits for a boot.
func (t *task) noteWritten(ctx context.Context, step *node.Step) error {
	now := time.Now().UTC()
	step.Written, step.Phase = &now, ""
	return t.save(ctx)
}

// bootToApply boots the server, into the ramdisk where an agent runs the steps. It may be called again when it is done.
func (t *task) bootToApply(ctx context.Context, step *node.Step) (outcome, error) {
	if !t.agentRuns(step) {
		return offAndOn(ctx, t, step)
	}
	if step.Phase == phaseBooted && t.node.AgentCalledBack(t.op.Kind) {
		return done, nil
	}
	return bootAgent(ctx, t, step)
}

// agentRuns reports whether a step before this one has booted the agent, and none has ended it since.
func (t *task) agentRuns(step *node.Step) (runs bool) {
	for _, before := range t.op.Steps[:step.Index] {
		if rule := before.Rule(); before.State == node.StepDone && (rule.BootsAgent || rule.EndsAgent) {
			runs = rule.BootsAgent
		}
	}
	return runs && node.UsesAgent(t.node, t.op.Kind)
}

// watchBIOS reads the settings until they are as asked for. When the time for that is over, it returns an error that names the first
// one that is not.
func (t *task) watchBIOS(ctx context.Context, step *node.Step, control bmc.BIOSControl, asked map[string]any) error {
	until := time.Now().Add(t.Settings.BIOSTimeout).UTC()
	if step.Phase == phaseBooted { // the agent has called: the firmware has done its work
		until = time.Now().Add(t.Settings.BIOSSettle).UTC()
	}
	w := node.Wait{For: node.WaitBIOS, Subject: strings.Join(slices.Sorted(maps.Keys(asked)), ", "), Since: *step.Written, Until: &until, Every: t.Settings.BIOSPoll}
	t.attempt(&w, step)
	t.waitFor(w)
	next := backoff(t.Settings.BIOSPoll)
	for {
		b, err := control.BIOS(ctx)
		if err == nil {
			want, werr := biosWanted(b, asked)
			missing := biosMissing(b, want)
			if werr == nil && len(missing) == 0 {
				t.arrived()
				return t.keepBIOS(ctx, b)
			}
			t.saw(strings.Join(missing, ", ") + " not changed yet")
			if !time.Now().Before(until) {
				return t.biosIgnored(ctx, step, b, want, missing, werr)
			}
		} else {
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return err
			}
			if !time.Now().Before(until) {
				return err
			}
		}
		if err := t.tell(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, min(max(next(), bmc.RetryAfter(err)), max(time.Until(until), 0))); err != nil {
			return err
		}
	}
}

// biosIgnored is the error of settings that the BMC has accepted and that the boot did not change. Whoever retries the step has them
// written again.
func (t *task) biosIgnored(ctx context.Context, step *node.Step, b bmc.BIOS, want map[string]any, missing []string, err error) error {
	if kerr := t.keepBIOS(ctx, b); kerr != nil {
		return kerr
	}
	if err != nil {
		return err
	}
	var words []string
	for _, name := range missing {
		words = append(words, name+" is "+shownBIOS(name, b.Values[name])+" and not "+shownBIOS(name, want[name]))
	}
	said := ""
	if len(b.Messages) > 0 {
		said = "; the BMC says: " + strings.Join(b.Messages, " ")
	}
	step.Written, step.Phase = nil, ""
	return fault.Coded(fault.BIOSSettingIgnored, "after the boot BIOS setting %s%s", strings.Join(words, ", "), said)
}

// shownBIOS is how an error shows the value of a setting. Passwords are not shown.
func shownBIOS(name string, v any) string {
	if strings.Contains(strings.ToLower(name), "password") {
		return "******"
	}
	return `"` + node.BIOSText(v) + `"`
}

// biosWanted returns the settings that were asked for with the types that the BMC has for them. A setting that the BMC lacks is an error
// that names it.
func biosWanted(b bmc.BIOS, asked map[string]any) (map[string]any, error) {
	want := make(map[string]any, len(asked))
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		have, ok := b.Values[name]
		if !ok {
			return nil, fault.CodedAs(fault.Refused, fault.BIOSSettingRefused, "BIOS setting %s: the server has no such setting", name)
		}
		want[name] = node.BIOSValueLike(have, asked[name])
	}
	return want, nil
}

// biosMissing returns the names of the settings that do not have the wanted value. A value that the BMC does not show, as of a password,
// can't be read back.
func biosMissing(b bmc.BIOS, want map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have := b.Values[name]; have != nil && have != want[name] {
			names = append(names, name)
		}
	}
	return names
}

// shows reports whether the BMC shows that the settings are as wanted. What it does not show has to be written.
func shows(b bmc.BIOS, want map[string]any) bool {
	for name, v := range want {
		if have := b.Values[name]; have == nil || have != v {
			return false
		}
	}
	return true
}

// contradicts reports whether the next boot would change one of the settings to another value.
func contradicts(pending, want map[string]any) bool {
	for name, v := range want {
		if next, ok := pending[name]; ok && next != v {
			return true
		}
	}
	return false
}

// promises reports whether the BMC shows that the next boot makes the settings as wanted.
func promises(b bmc.BIOS, want map[string]any) bool {
	for name, v := range want {
		next, ok := b.Pending[name]
		if !ok {
			next = b.Values[name]
		}
		if next == nil || next != v {
			return false
		}
	}
	return true
}
