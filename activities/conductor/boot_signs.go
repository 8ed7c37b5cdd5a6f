package conductor

import (
	"context"
	"fmt"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// A server that boots from a CD that Temper makes, or by network, gives signs of it: it reads the CD or the files, and its agent looks itself up. If there is none
// for BootTimeout, the server has stopped, boots from something else, or its BMC does not reach the CD.

// lookAt returns when a conductor has to look whether a server still boots, for whose agent the step waits; nil = never, because a
// boot without signs can't be told from one that goes on.
func (t *task) lookAt() *time.Time {
	if t.Settings.BootTimeout == 0 {
		return nil
	}
	if r, err := t.ramdisk(); err != nil || r.ISO != "" || t.node.Implementation("boot").Means == node.MeansFake {
		return nil
	}
	at := t.lastSign().Add(t.Settings.BootTimeout)
	return &at
}

// lastSign returns when the server gave its last sign of the boot for whose agent the step waits: at first, when it was seen on.
func (t *task) lastSign() time.Time {
	w := t.op.StepWait
	last := w.Since
	later := func(at *time.Time) {
		if at != nil && at.After(last) {
			last = *at
		}
	}
	later(w.SeenAt)
	if t.node.MediumRead != nil {
		later(t.node.MediumRead.At)
	}
	if t.node.Agent != nil {
		later(t.node.Agent.LookedUpAt)
	}
	return last
}

// standsStill reports whether the server, for whose agent the step waits, gave no sign for BootTimeout, so that it is to be switched
// off and on again. It returns an error if it was switched on BootTries times.
func (t *task) standsStill(ctx context.Context, step *node.Step) (bool, error) {
	w := t.op.StepWait
	if w == nil || w.For != node.WaitCall || w.LookAt == nil || time.Now().Before(*w.LookAt) {
		return false, nil
	}
	if at := t.lookAt(); at == nil || time.Now().Before(*at) || t.testsItself(ctx) {
		return false, nil
	}
	seen := t.bootTrail()
	if step.BootsAgain+1 >= t.Settings.BootTries {
		cause := fault.MediumNotRead
		switch {
		case t.node.MediumRead != nil:
			cause = fault.AgentNeverCalled
		case t.node.BootsByNetwork():
			cause = fault.NetworkNotAsked
		}
		return false, fault.CodedAs(fault.Refused, cause, "%s; it was switched on %s", seen, text.Count(step.BootsAgain+1, "time", "times"))
	}
	step.BootsAgain++
	step.Note = seen + "; it is switched off and on again"
	t.addNews(node.TimelineFailed, step, step.Note)
	t.arrived()
	return true, nil
}

// testsItself reports whether the BMC says that the server has not begun to boot yet, as during a test of its memory. If the BMC
// gives no answer, nothing is known.
func (t *task) testsItself(ctx context.Context) bool {
	if !t.reportsBootProgress() {
		return false
	}
	s, err := t.powerControl(ctx)
	if err != nil {
		return false
	}
	if _, err := t.readPower(ctx, s); err != nil || !bmc.TestsItself(t.bootProgress()) {
		return false
	}
	t.saw(t.bootProgress())
	return true
}

// bootTrail says what was seen of a boot whose agent does not call.
func (t *task) bootTrail() string {
	within := text.Duration(t.Settings.BootTimeout)
	if r := t.node.MediumRead; r != nil {
		return fmt.Sprintf("the server had read %s, and has given no other sign for %s", r.Words(), within)
	}
	if t.node.BootsByNetwork() {
		return fmt.Sprintf("the server has asked for no file of its boot by network within %s of switching it on", within)
	}
	url := ""
	if r, err := t.ramdisk(); err == nil {
		url = fault.Text(fmt.Errorf("%s", r.Site.MediaURL))
	}
	return fmt.Sprintf("nothing has read the CD at %s within %s of switching the server on", url, within)
}
