package conductor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// setBootMode sets the boot mode, which takes effect with the next boot, and records it.
func setBootMode(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	firmware, err := t.bootModes(ctx, step.Step)
	if err != nil {
		return 0, err
	}
	return done, t.switchBootMode(ctx, firmware, bmc.Mode(textArg(step.Args, node.ArgTarget)))
}

// instanceBootMode gives a server that is off the boot mode that its instance wants, before the agent boots (Ironic
// conductor/boot_mode_utils.py, sync_boot_mode). Many nodes have the capability only to be found by it, so that a driver that can't set the
// mode, and a BMC that shows none, are no error.
func (t *task) instanceBootMode(ctx context.Context) error {
	want, err := t.node.WantsBootMode()
	if err != nil || want == "" {
		return err
	}
	firmware, err := t.bootModes(ctx, "the boot mode "+want+", which the capabilities of the instance want")
	have := bmc.ModeUnknown
	if err == nil {
		have, _, err = firmware.BootMode(ctx)
	}
	switch {
	case fault.CodeOf(err) == fault.NotSupported || err == nil && have == bmc.ModeUnknown:
		t.log.Warn("the boot mode that the capabilities of the instance want can't be set on this server", zap.String("boot_mode", want))
		return nil
	case err != nil:
		return err
	}
	return t.switchBootMode(ctx, firmware, bmc.Mode(want))
}

// switchBootMode sets the boot mode and records it.
func (t *task) switchBootMode(ctx context.Context, firmware bmc.BootModes, want bmc.Mode) error {
	have, modes, err := firmware.BootMode(ctx)
	switch {
	case err != nil:
		return err
	case have != want && len(modes) > 0 && !slices.Contains(modes, want):
		return fault.CodedAs(fault.Invalid, fault.BootModeRefused, "the server can't boot in the mode %s", want)
	}
	err = t.setUnless(ctx, bmc.NameBootMode(want), func() (bool, string, error) {
		have, _, err := firmware.BootMode(ctx)
		return have == want, string(have), err
	}, func() error { return firmware.SetBootMode(ctx, want) })
	if err != nil {
		return err
	}
	return t.saveInspection(ctx, node.Inspection{BootMode: string(want)})
}

// setSecureBoot switches Secure Boot, which takes effect with the next boot, and records it.
func setSecureBoot(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	want, _ := step.Args[node.ArgTarget].(bool)
	return done, t.switchSecureBoot(ctx, step.Step, want)
}

// secureInstance switches Secure Boot, if the node's instance wants it: on before what is deployed is booted, and off before the agent, whose
// ramdisk need not be signed (Ironic conductor/boot_mode_utils.py, configure_secure_boot_if_needed and deconfigure_secure_boot_if_needed).
func (t *task) secureInstance(ctx context.Context, on bool) error {
	if !t.node.WantsSecureBoot() {
		return nil
	}
	err := t.switchSecureBoot(ctx, "Secure Boot, which the capabilities of the instance want", on)
	if !on && fault.CodeOf(err) == fault.NotSupported {
		return nil
	}
	return err
}

// switchSecureBoot switches Secure Boot and records it. what is what a driver does not support that can't.
func (t *task) switchSecureBoot(ctx context.Context, what string, want bool) error {
	firmware, err := t.bootModes(ctx, what)
	if err != nil {
		return err
	}
	mode, _, err := firmware.BootMode(ctx)
	switch {
	case err != nil:
		return err
	case want && mode == bmc.ModeBIOS:
		return fault.CodedAs(fault.Invalid, fault.BootModeRefused, "the server boots in the mode bios, which has no Secure Boot: set the boot mode uefi first")
	}
	err = t.setUnless(ctx, bmc.NameSecureBoot(want), func() (bool, string, error) {
		have, err := firmware.SecureBoot(ctx)
		if have == nil {
			return false, "nothing", err
		}
		return *have == want, fmt.Sprintf("Secure Boot %t", *have), err
	}, func() error { return firmware.SetSecureBoot(ctx, want) })
	if err != nil {
		return err
	}
	return t.saveInspection(ctx, node.Inspection{SecureBoot: &want})
}

// setUnless sends an absolute request, unless the BMC shows already what it is for, and reads it back until that is shown. If the answer is
// lost, what the BMC shows decides.
func (t *task) setUnless(ctx context.Context, name string, shown func() (is bool, what string, err error), set func() error) error {
	is, _, err := shown()
	if err != nil {
		return err
	}
	if is {
		waited, err := t.awaitOthers(ctx, name)
		if err != nil || !waited {
			return err
		}
		return t.setUnless(ctx, name, shown, set)
	}
	sent := set()
	if sent != nil && !fault.Is(sent, fault.Unreachable) || t.readBackByAnother(ctx, sent) {
		return refusedAs(fault.BootModeRefused, sent)
	}
	next, until := backoff(t.Settings.PowerPoll), time.Now().Add(t.Settings.MediaTimeout)
	for {
		is, what, err := shown()
		switch {
		case err != nil:
			return err
		case is:
			t.tookEffect(name)
			return nil
		case sent != nil:
			return sent
		case time.Now().After(until):
			return fault.CodedAs(fault.Unreachable, fault.BootModeRefused, "the BMC took %s but shows %s", name, what)
		}
		if err := sleep(ctx, next()); err != nil {
			return err
		}
	}
}

// setIndicator switches a light.
func setIndicator(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	lights, err := t.indicators(ctx)
	if err != nil {
		return 0, err
	}
	component, name, state := textArg(step.Args, node.ArgComponent), textArg(step.Args, node.ArgIndicator), textArg(step.Args, node.ArgState)
	all, err := lights.ReadIndicators(ctx)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(all, func(l node.Indicator) bool { return l.Component == component && l.Name == name })
	if i < 0 {
		return 0, fault.Coded(fault.IndicatorRefused, "the server has no light %.80q of the component %.80q", name, component)
	}
	if !slices.Contains(all[i].States, state) {
		return 0, fault.Coded(fault.IndicatorRefused, "the light %s of the component %s can't be %s", name, component, state)
	}
	if all[i].State == state {
		return done, nil
	}
	// The light is not read back: some BMCs show another state while they identify the server for another reason.
	err = lights.SetIndicator(ctx, component, name, state)
	return done, refusedAs(fault.IndicatorRefused, err)
}
