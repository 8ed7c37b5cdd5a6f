package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// A BMC may accept On and show the server on although the server never begins to boot (NVIDIA/infra-controller#5355). Many BMCs
// tell how far the boot is, with the power state. But some of them tell None whatever the server does, so that only a BMC that
// has told something else of this node before is believed.

const (
	// maxBootsAgain is how often a step switches a server off and on again that does not begin to boot.
	maxBootsAgain = 2
	// bootPoll is the longest pause between two readings of how far the boot is. It may take minutes until memory is tested.
	bootPoll = 5 * time.Second
)

// notBooting is what people are told of a server that is switched off and on again.
const notBooting = "the BMC shows the server on, and no sign of booting; it is switched off and on again"

// learnBootProgress notes that the BMC tells of boots, if it has just told of one.
func (t *task) learnBootProgress() {
	if told := t.bootProgress(); told == "" || told == bmc.NotBooting || t.tellsBoot() {
		return
	}
	t.noteTellsBoot(true)
}

func (t *task) noteTellsBoot(tells bool) {
	learned := map[string]any{node.TellsBoot: tells}
	t.node.DriverInternalInfo = mergeMaps(t.node.DriverInternalInfo, learned)
	t.pending.Internal = mergeMaps(t.pending.Internal, learned)
}

func (t *task) tellsBoot() bool { return t.node.DriverInternalInfo[node.TellsBoot] == true }

// bootProgress returns what the BMC told when the power state was read last, "" if it told nothing.
func (t *task) bootProgress() string {
	if t.session == nil || t.session.BootProgress == nil {
		return ""
	}
	return t.session.BootProgress()
}

// booted returns the phase that follows when the server was seen on: the last one if it boots, as far as is known, else the
// first one, at most maxBootsAgain times. After that the BMC is not believed until it tells of a boot again, because it may be
// wrong, and who decides to retry has looked at the server.
func (t *task) booted(ctx context.Context, step *node.Step) (string, error) {
	boots, err := t.beginsToBoot(ctx)
	if err != nil || boots {
		return phaseBooted, err
	}
	if step.BootsAgain >= maxBootsAgain {
		t.noteTellsBoot(false)
		return "", fault.Coded(fault.ServerNotBooting, "the BMC has shown the server on %d times, and no sign of booting within %s",
			step.BootsAgain+1, t.Settings.BootTimeout)
	}
	step.BootsAgain++
	step.Note = notBooting
	t.addNews(node.TimelineFailed, step, notBooting)
	t.arrived()
	return "", nil
}

// beginsToBoot waits until a server that was seen on begins to boot, and reports whether it has within BootTimeout. If the BMC
// does not tell of boots, it has.
func (t *task) beginsToBoot(ctx context.Context) (bool, error) {
	if t.Settings.BootTimeout == 0 || !t.tellsBoot() {
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
	for {
		_, err := t.readPower(ctx, s)
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
