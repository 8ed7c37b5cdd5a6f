package conductor

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// nextInsteadOfStep says what is to happen instead of the next step; "" = it may begin.
func (t *task) nextInsteadOfStep() Next {
	cover := node.Cover{Covered: true} // by this conductor
	if step := t.op.CurrentStep(); step != nil && step.NotBefore != nil && !step.Deadly() {
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

// clearAsk: what was asked is taken up.
func (t *task) clearAsk() {
	t.pending.ClearAsk = true
	t.op.Asked = node.AskNone
}

// handOverTimeout bounds the word that a step is left in good order: the next
// conductor waits for it.
const handOverTimeout = 300 * time.Millisecond

// recordHandOver records that the current step is handed over and, if somebody has paused
// it in Temporal, the pause p. It writes nothing else: an interrupted step may have
// noted in memory what it did not get to do. It reports whether another conductor
// has taken the step already.
func (t *task) recordHandOver(p *node.Pause) bool {
	ctx, cancel := context.WithTimeout(context.Background(), handOverTimeout)
	defer cancel()
	err := t.Store.PutDown(ctx, t.op.ID, t.claim, p)
	if err != nil && !fault.Is(err, fault.Lost) {
		t.log.Warn("step handed over without a word", zap.Error(err))
	}
	return fault.Is(err, fault.Lost)
}

// errOtherQueue: this is the queue of a group and driver that the node has left
// while it waited for a conductor.
var errOtherQueue = fault.New(fault.NoValidHost, "the node has another driver or conductor group by now")

func otherQueue(queue string, o *node.Operation) bool {
	own := node.QueueName(o.Group, o.Driver)
	prefix, _, _ := strings.Cut(own, "/")
	return strings.HasPrefix(queue, prefix+"/") && queue != own
}
