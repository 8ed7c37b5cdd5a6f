package conductor

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// nextInsteadOfStep returns what the workflow is to do instead of the next step, "" if the
// step may begin.
func (t *task) nextInsteadOfStep() Next {
	cover := node.Coverage{Covered: true} // by this conductor
	if step := t.op.CurrentStep(); step != nil && step.NotBefore != nil && !step.NeedsDecision() {
		cover.PutOff = max(step.NotBefore.Sub(*t.op.ClaimedAt), 0)
	}
	switch t.op.Course(node.Situation{Cover: cover, Claimed: true}) {
	case node.Ends:
		return NextAsked
	case node.Rests:
		return NextReady
	case node.BreaksOff:
		return NextOrphaned
	}
	return ""
}

// clearAsk notes for the next save that the request to the operation has been handled.
func (t *task) clearAsk() {
	t.pending.ClearAsk = true
	t.op.Asked = node.AskNone
}

// handOverTimeout is how long recording a hand-over may take. The next conductor waits
// for it.
const handOverTimeout = 300 * time.Millisecond

// recordHandOver records that the current step is handed over and, if somebody has paused
// it in Temporal, the pause p. If the BMC has answered the last request, that is recorded, too, so that the next
// conductor does not wait for its effect. Nothing else is written: an interrupted step may have
// noted in memory what it did not get to do. It reports whether another conductor
// has taken the step already.
func (t *task) recordHandOver(p *node.Pause) bool {
	ctx, cancel := context.WithTimeout(context.Background(), handOverTimeout)
	defer cancel()
	var known node.Progress
	t.noteFlight(&known)
	err := t.Store.HandOver(ctx, t.op.ID, t.claim, p, known)
	if err != nil && !fault.Is(err, fault.Lost) {
		t.log.Warn("the step was handed over, but that could not be recorded", zap.Error(err))
	}
	return fault.Is(err, fault.Lost)
}

// errOtherQueue means that the activity was in the queue of another group or driver than
// the node has now: somebody changed them while the activity was in the queue.
var errOtherQueue = fault.New(fault.NoValidHost, "the node has another driver or conductor group by now")

func otherQueue(queue string, o *node.Operation) bool {
	own := node.QueueName(o.Group, o.Driver)
	prefix, _, _ := strings.Cut(own, "/")
	return strings.HasPrefix(queue, prefix+"/") && queue != own
}
