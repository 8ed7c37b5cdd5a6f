package lockwait

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/node"
)

// askEvery is how often the first of a queue tries although it has heard of no end, because the connection that hears of ends
// may not have opened, or may have been lost. Ironic tries as often (node_locked_retry_interval).
const askEvery = time.Second

// Turn is one request, from its first try to its last.
type Turn struct {
	queues  *Queues
	place   *place // where it waits; nil = it does not
	patient bool
	again   bool
	over    bool // it has waited in vain
}

// Patient reports whether the request waits if this try returns a node.HeldBriefly.
func (t *Turn) Patient() bool { return t.patient }

// Again reports whether this is not the first try, so that some time may have passed since.
func (t *Turn) Again() bool { return t.again }

// Behind reports whether requests for the node wait that came before this one.
func (t *Turn) Behind(nodeUUID string) bool { return t.patient && t.queues.before(t.place, nodeUUID) }

// serve waits in the queue of the node that held names, and tries when it is the request's turn, until an error is no
// node.HeldBriefly for that node, or until within ends.
func (t *Turn) serve(ctx, within context.Context, held *node.HeldBriefly, try func(*Turn) error) error {
	q, p := t.queues, t.queues.join(held.UUID)
	t.place, t.again = p, true
	defer q.part(p)
	select {
	case <-p.head:
	case <-within.Done():
		return t.end(ctx, held, try)
	}
	ended, stop, err := q.Ends.HearEnds(within, p.node)
	if err == nil {
		defer stop()
	} else if within.Err() == nil {
		q.Log.Warn("a request can't hear of the end of an operation, and asks for it", zap.String("node", p.node), zap.Error(err))
	}
	unheard := time.NewTicker(askEvery)
	defer unheard.Stop()
	for {
		err := try(t)
		again := briefly(err)
		if again == nil || again.UUID != p.node {
			return err
		}
		held = again
		select {
		case <-ended:
		case <-unheard.C:
		case <-within.Done():
			return t.end(ctx, held, try)
		}
	}
}

// end is what the request gets when its time is over. The first of a queue tries once more, which also has the refusal recorded.
func (t *Turn) end(ctx context.Context, held *node.HeldBriefly, try func(*Turn) error) error {
	t.over = true
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Cause(ctx)
	case ctx.Err() != nil: // the deadline of the request itself
		return held.Refusal
	case t.queues.before(t.place, held.UUID):
		return t.refuse(held, try)
	}
	t.patient = false
	err := try(t)
	again := briefly(err)
	if again == nil {
		t.over = false
		return err
	}
	return again.Refusal
}

// refuse returns the refusal, and has it recorded where that is necessary.
func (t *Turn) refuse(held *node.HeldBriefly, try func(*Turn) error) error {
	if t.patient = false; held.Record {
		return try(t)
	}
	return held.Refusal
}

// IsBrief reports whether an error is a node.HeldBriefly.
func IsBrief(err error) bool { return briefly(err) != nil }

// briefly returns the node.HeldBriefly of an error; nil = it is none.
func briefly(err error) *node.HeldBriefly {
	var held *node.HeldBriefly
	if errors.As(err, &held) {
		return held
	}
	return nil
}
