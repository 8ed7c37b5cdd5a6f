package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// A BMC may accept On and show the server on although the server never begins to boot (NVIDIA/infra-controller#5355). Many BMCs
// report how far a boot is together with the power state. But some of them report None whatever the server does. So a report is
// believed only if the BMC has reported something else about this node before.

const (
	// bootPoll is the longest pause between two readings of how far the boot is. Testing the memory may take minutes.
	bootPoll = 5 * time.Second
)

// notBooting is the step's note when its server is switched off and on again.
const notBooting = "the BMC shows the server on, and no sign of booting; it is switched off and on again"

// learnBootProgress notes that the BMC reports boots, if it has just reported one.
func (t *task) learnBootProgress() {
	if told := t.bootProgress(); told == "" || told == bmc.NotBooting || t.reportsBootProgress() {
		return
	}
	t.noteReportsBootProgress(true)
}

func (t *task) noteReportsBootProgress(tells bool) {
	learned := map[string]any{node.ReportsBootProgress: tells}
	t.node.DriverInternalInfo = mergeMaps(t.node.DriverInternalInfo, learned)
	t.pending.Internal = mergeMaps(t.pending.Internal, learned)
}

func (t *task) reportsBootProgress() bool {
	return t.node.DriverInternalInfo[node.ReportsBootProgress] == true
}

// bootProgress returns what the BMC reported when the power state was read last, "" if nothing.
func (t *task) bootProgress() string {
	if t.session == nil || t.session.BootProgress == nil {
		return ""
	}
	return t.session.BootProgress()
}

// booted returns the phase that follows when the server was seen on: phaseBooted if it boots or the BMC does not report boots,
// else the first phase, until the server was switched on BootTries times. After that it returns an error, and the BMC is not believed until it reports a
// boot again: it may be wrong, and whoever decides to retry has looked at the server.
func (t *task) booted(ctx context.Context, step *node.Step) (string, error) {
	boots, err := t.beginsToBoot(ctx)
	if err != nil || boots {
		return phaseBooted, err
	}
	if step.BootsAgain+1 >= t.Settings.BootTries {
		t.noteReportsBootProgress(false)
		return "", fault.Coded(fault.ServerNotBooting, "the BMC has shown the server on %d times, and no sign of booting within %s",
			step.BootsAgain+1, t.Settings.BootTimeout)
	}
	step.BootsAgain++
	step.Note = notBooting
	t.addNews(node.TimelineFailed, step, notBooting)
	t.arrived()
	return "", nil
}

// beginsToBoot waits until a server that was seen on begins to boot, and reports whether it did within BootTimeout. If the BMC
// does not report boots, it returns true at once.
func (t *task) beginsToBoot(ctx context.Context) (bool, error) {
	if t.Settings.BootTimeout == 0 || !t.reportsBootProgress() {
		return true, nil
	}
	s, err := t.powerControl(ctx)
	if err != nil {
		return false, err
	}
	until := time.Now().Add(t.Settings.BootTimeout).UTC()
	next := backoff(bootPoll)
	var heard *events
	defer func() { heard.end(ctx) }()
	for read := t.powerNow; ; read = t.readPower {
		_, err := read(ctx, s)
		switch {
		case err == nil && t.bootProgress() != bmc.NotBooting:
			return true, nil
		case err == nil:
			if err := t.bmcAnswered(ctx); err != nil {
				return false, err
			}
		default:
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return false, err
			}
		}
		if !time.Now().Before(until) {
			return false, nil
		}
		t.waitForCall(until)
		if err := t.tell(ctx); err != nil {
			return false, err
		}
		if heard == nil {
			heard = t.listen(ctx)
		}
		asked := bmc.RetryAfter(err)
		if err := heard.pause(ctx, min(max(next(), asked), max(time.Until(until), 0)), asked); err != nil {
			return false, err
		}
	}
}
