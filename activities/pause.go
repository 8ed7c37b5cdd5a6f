package activities

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// paused says what is to happen instead of the next step where the node was put
// into maintenance meanwhile; "" = it is not, or nothing is left to do, or what
// comes next is the power request of an operator. A step that was at work when
// its conductor died is not taken up.
func (t *task) paused() Next {
	step := t.op.CurrentStep()
	switch {
	case t.asked != node.AskPause || step == nil || step.PowerRequest():
		return ""
	case step.State == node.StepRunning && !t.op.Rests:
		return NextOrphaned
	}
	return NextReady
}

// unasked is what a step is told where nothing else is asked.
func (t *task) unasked() node.Ask {
	if t.op.Paused {
		return node.AskPause
	}
	return node.AskNone
}

// taken: what was asked is taken up.
func (t *task) taken() {
	t.pending.ClearAsk = true
	t.asked = t.unasked()
}

// putDownTime bounds the word that a step is left in good order: the next
// conductor waits for it.
const putDownTime = 300 * time.Millisecond

// putDown says that the step at work is handed over. Nothing else is written: a
// step that was interrupted may have noted what it did not get to do. True: the
// step is another conductor's already.
func (t *task) putDown() bool {
	ctx, cancel := context.WithTimeout(context.Background(), putDownTime)
	defer cancel()
	err := t.Records.PutDown(ctx, t.op.ID, t.claim)
	if err != nil && !fault.Is(err, fault.Lost) {
		t.log.Warn("step handed over without a word", zap.Error(err))
	}
	return fault.Is(err, fault.Lost)
}

// errElsewhere: this is the queue of a group and driver that the node has left
// while it waited for a conductor.
var errElsewhere = fault.New(fault.NoValidHost, "the node has another driver or conductor group by now")

func elsewhere(queue string, o *node.Operation) bool {
	own := node.QueueName(o.Group, o.Driver)
	prefix, _, _ := strings.Cut(own, "/")
	return strings.HasPrefix(queue, prefix+"/") && queue != own
}
