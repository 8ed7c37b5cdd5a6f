package apitest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Operations stands for Temporal: it remembers what was started and what
// workflows were told.
type Operations struct {
	Err      error           // every call fails with it
	Run      node.RunStatus  // what Status answers
	Newest   *node.RunStatus // what Status answers for the newest run, where that is another one
	OnStatus func()          // is called in Status; may be nil
	// OnStart is called when an operation was started; may be nil.
	OnStart func(*node.Operation)
	// OnAwait is called in Await; nil = the workflow does not end.
	OnAwait func(*node.Operation)
	// Within is how long the last decision was waited for.
	Within  time.Duration
	Reading node.BMCReading // what Read answers, unless ReadErr is set
	ReadErr error

	mu      sync.Mutex
	started []int64
	told    []string
}

// Start remembers the operation.
func (o *Operations) Start(_ context.Context, op *node.Operation) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = append(o.started, op.ID)
	if o.OnStart != nil {
		o.OnStart(op)
	}
	return o.Err
}

// Cancel is told as "cancel ID: reason".
func (o *Operations) Cancel(_ context.Context, op *node.Operation, reason string) error {
	return o.tell(fmt.Sprintf("cancel %d: %s", op.ID, reason))
}

// Nudge is told as "nudge ID: what is asked".
func (o *Operations) Nudge(_ context.Context, op *node.Operation) error {
	return o.tell(fmt.Sprintf("nudge %d: %s", op.ID, op.Asked))
}

// Decide is told as "decide ID: action by whom: reason". It sets Within.
func (o *Operations) Decide(ctx context.Context, op *node.Operation, a node.Action, by, reason string) error {
	if deadline, ok := ctx.Deadline(); ok {
		o.Within = time.Until(deadline)
	}
	return o.tell(fmt.Sprintf("decide %d: %s by %s: %s", op.ID, a, by, reason))
}

// Status answers Run or, for an operation that names no run, Newest.
func (o *Operations) Status(_ context.Context, op *node.Operation) (node.RunStatus, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.OnStatus != nil {
		o.OnStatus()
	}
	if o.Newest != nil && op.RunID == "" {
		return *o.Newest, o.Err
	}
	return o.Run, o.Err
}

// Await calls OnAwait.
func (o *Operations) Await(ctx context.Context, op *node.Operation) error {
	if o.OnAwait == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	o.OnAwait(op)
	return o.Err
}

// Read is recorded as "read WHAT of NODE".
func (o *Operations) Read(_ context.Context, n *node.Node, what node.Reading, id string) (node.BMCReading, error) {
	_ = o.tell(strings.Join(strings.Fields(fmt.Sprintf("read %s %s of %s", what, id, n.Name)), " "))
	return o.Reading, o.ReadErr
}

// Unpause is told as "unpause ID by whom: reason".
func (o *Operations) Unpause(_ context.Context, op *node.Operation, by, reason string) error {
	return o.tell(fmt.Sprintf("unpause %d by %s: %s", op.ID, by, reason))
}

// Terminate is told as "terminate ID: reason".
func (o *Operations) Terminate(_ context.Context, op *node.Operation, reason string) error {
	return o.tell(fmt.Sprintf("terminate %d: %s", op.ID, reason))
}

func (o *Operations) tell(what string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, what)
	return o.Err
}

// Started returns the ids of the operations that were started, in their order.
func (o *Operations) Started() []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.started)
}

// Told returns what workflows were told, in its order.
func (o *Operations) Told() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.told)
}

// Drivers stands for the drivers: redfish needs its address.
type Drivers struct{}

// Validate checks driver_info.
func (Drivers) Validate(driver string, info map[string]any) error {
	if driver == "redfish" && (info["redfish_address"] == nil || info["redfish_address"] == "") {
		return fault.New(fault.Invalid, "Missing redfish_address")
	}
	return nil
}
