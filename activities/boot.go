package activities

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/guards"
	"go.temper.dev/temper/internal/node"
)

// The phases of a step that boots the agent: what is certain about the server.
const (
	phaseOff    = "off"    // seen off
	phaseArmed  = "armed"  // media and override read back while it was seen off
	phaseBooted = "booted" // seen on; the agent has yet to call
)

// bootAgent brings the server up in the ramdisk: off, seen off; media and
// one-time override, read back while it is off; on, seen on. Every phase may run
// twice. It returns awaitAgent until the agent of this boot has called.
func bootAgent(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	for step.Phase != phaseBooted {
		next, err := t.bootPhase(ctx, step)
		if err != nil {
			return 0, err
		}
		step.Phase = next
		if next == phaseBooted {
			break
		}
		if err := t.save(ctx); err != nil {
			return 0, err
		}
	}
	if t.node.AgentCalled(t.op.Kind) {
		return over, nil
	}
	step.State = node.StepWaiting
	return awaitAgent, t.waitForAgent(ctx)
}

func (t *task) bootPhase(ctx context.Context, step *node.Step) (string, error) {
	switch step.Phase {
	case "":
		return phaseOff, t.powerTo(ctx, step, bmc.PowerOff, bmc.RequestForceOff, t.Settings.PowerTimeout)
	case phaseOff:
		again, err := t.arm(ctx)
		if err != nil || again {
			return "", err
		}
		// The next boot is a new one for the agent too: what an earlier one
		// said, and its token, are forgotten before the server is switched on.
		t.pending.ClearAgent = true
		t.node.Agent = nil
		t.agentClient = nil
		return phaseArmed, nil
	default:
		return phaseBooted, t.powerTo(ctx, step, bmc.PowerOn, bmc.RequestOn, t.Settings.PowerTimeout)
	}
}

// arm sets media and override and reads them back. True: the server was found
// on, so what was set may not hold for the next boot, and it starts over.
func (t *task) arm(ctx context.Context) (bool, error) {
	if t.node.Interfaces["boot"] == "fake" {
		return false, nil
	}
	s, err := t.bmc(ctx)
	if err != nil {
		return false, err
	}
	iso, err := t.ramdisk()
	if err != nil {
		return false, err
	}
	p, err := s.Power(ctx)
	if err != nil {
		return false, err
	}
	if p != bmc.PowerOff {
		return true, nil
	}
	t.wants(node.UndoEjectMedia, node.UndoClearBoot)
	if err := t.save(ctx); err != nil {
		return false, err
	}
	if err := t.setMedia(ctx, s, iso); err != nil {
		return false, err
	}
	return false, t.setBoot(ctx, s, bmc.Boot{Device: bmc.DeviceCDROM})
}

// ramdisk is the URL of the ISO that boots the agent.
func (t *task) ramdisk() (string, error) {
	for _, from := range []map[string]any{t.driverInfo, t.instanceInfo} {
		if url, ok := from["deploy_iso"].(string); ok && url != "" {
			return url, nil
		}
	}
	return "", fault.New(fault.Invalid, "node %s has no driver_info/deploy_iso: the boot interface redfish-virtual-media boots the agent from it", t.node.UUID)
}

// setMedia inserts the image and reads it back; a lost answer is judged by what is read.
func (t *task) setMedia(ctx context.Context, s bmc.Session, url string) error {
	m, err := s.Media(ctx)
	if err != nil {
		return err
	}
	if guards.LookBeforeAct && m.Inserted && m.Image == url {
		return nil
	}
	sent := s.InsertMedia(ctx, url)
	if sent != nil && !fault.Is(sent, fault.Unreachable) || t.readBackElsewhere(ctx, sent) {
		return sent
	}
	m, err = s.Media(ctx)
	if err != nil {
		return err
	}
	if m.Inserted && m.Image == url {
		return nil
	}
	if sent != nil {
		return sent
	}
	return fault.New(fault.Unreachable, "node %s: the BMC took the virtual media %s but does not show it", t.node.UUID, url)
}

func (t *task) ejectMedia(ctx context.Context, s bmc.Session) error {
	m, err := s.Media(ctx)
	if err != nil || !m.Inserted {
		return err
	}
	sent := s.EjectMedia(ctx)
	if sent != nil && !fault.Is(sent, fault.Unreachable) || t.readBackElsewhere(ctx, sent) {
		return sent
	}
	m, err = s.Media(ctx)
	if err == nil && m.Inserted {
		return fault.New(fault.Unreachable, "node %s: the BMC still shows the virtual media %s", t.node.UUID, m.Image)
	}
	return err
}

// setBoot writes the override and reads it back; a lost answer is judged by what is read.
func (t *task) setBoot(ctx context.Context, s bmc.Session, want bmc.Boot) error {
	have, err := s.Boot(ctx)
	if err != nil {
		return err
	}
	if guards.LookBeforeAct && have.Device == want.Device && have.Persistent == want.Persistent {
		return nil
	}
	sent := s.SetBoot(ctx, want)
	if sent != nil && !fault.Is(sent, fault.Unreachable) || t.readBackElsewhere(ctx, sent) {
		return sent
	}
	have, err = s.Boot(ctx)
	if err != nil {
		return err
	}
	if have.Device == want.Device && (want.Device == bmc.DeviceNone || have.Persistent == want.Persistent) {
		return nil
	}
	if sent != nil {
		return sent
	}
	return fault.New(fault.Unreachable, "node %s: the BMC took the boot device %q but shows %q", t.node.UUID, want.Device, have.Device)
}

// fromDisk takes the ramdisk away, so that the next boot is from disk.
func (t *task) fromDisk(ctx context.Context) error {
	if t.node.Interfaces["boot"] == "fake" {
		t.settled(node.UndoEjectMedia, node.UndoClearBoot)
		return nil
	}
	s, err := t.bmc(ctx)
	if err != nil {
		return err
	}
	if err := t.ejectMedia(ctx, s); err != nil {
		return err
	}
	if err := t.setBoot(ctx, s, bmc.Boot{Device: bmc.DeviceNone}); err != nil {
		return err
	}
	t.settled(node.UndoEjectMedia, node.UndoClearBoot)
	return nil
}

// waitForAgent moves the node to its wait state and says until when.
func (t *task) waitForAgent(ctx context.Context) error {
	limit := map[node.Kind]time.Duration{
		node.KindDeploy: t.Settings.DeployWait, node.KindRebuild: t.Settings.DeployWait, node.KindInspect: t.Settings.InspectWait,
	}[t.op.Kind]
	if limit == 0 {
		limit = t.Settings.CleanWait
	}
	until := time.Now().Add(limit).UTC()
	t.op.WaitingFor, t.op.WaitingUntil = "the agent's call after boot", &until
	t.pending.Phase = node.Waiting
	if !node.Waits(t.node.ProvisionState) {
		t.move(node.EventWait)
	}
	return t.save(ctx)
}
