package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// Target is one operation that is followed.
type Target struct {
	Name string // of the node, as the user gave it
	ID   string // of the operation; "" = the request needed none
	Goal Goal

	Op        *client.Operation // as it was read last; nil = not yet
	NodeState string            // provision state of the node, if no operation was needed
	Done      bool              // there is nothing to follow any more
	Err       error             // why it did not reach its goal
}

// poll reads once how far it is.
func (t *Target) poll(ctx context.Context, c *client.Client) {
	if t.ID == "" {
		t.pollNode(ctx, c)
		return
	}
	op, err := c.Operation(ctx, t.ID)
	if ctx.Err() != nil {
		return // Follow says why
	}
	if err != nil {
		t.Done, t.Err = true, exit.WithCode(exit.CodeUnknown, fmt.Errorf("lost sight of operation %s: %w", t.ID, err))
		return
	}
	t.Op = op
	switch {
	case t.Goal == ChangePower && !kindOf(op).PowerChange:
		t.Done = op.Ended() || powerChanged(op)
		if t.Done && op.Ended() {
			t.Err = outcomeError(op, Succeed)
		}
	case !op.Ended() && t.Goal != Cancel && isHeld(op):
		t.Done, t.Err = true, heldError(op)
	case !op.Ended():
	case t.Goal == Undeploy && !kindOf(op).GivesBack:
		t.followUndeploy(ctx, c)
	default:
		t.Done, t.Err = true, outcomeError(op, t.Goal)
	}
}

// isHeld reports whether an operation waits for a person, who has to decide about a failed step or to unhold the node.
// Right after a decision the state may still be holding; then asked says that it was taken.
func isHeld(op *client.Operation) bool {
	s := op.Current()
	return node.Phase(op.State) == node.Holding && op.Asked == "" && (len(op.Choices) > 0 || s != nil && ruleOf(s).Holds)
}

// heldError says where an operation holds, and what a person can do.
func heldError(op *client.Operation) error {
	at, next := "", "temper node unhold "+op.Label()+" lets it go on"
	s := op.Current()
	if s != nil {
		at = " at " + s.Name()
	}
	if len(op.Choices) > 0 {
		next = fmt.Sprintf("decide with temper operation %s %s", strings.Join(op.Choices, "|"), op.ID)
		if s != nil {
			at += table.Optional(", which failed: ", table.Clause(s.LastError))
		}
	}
	return exit.WithCode(exit.CodeHeld, fmt.Errorf("operation %s (%s) holds%s; %s", op.ID, op.Kind, at, next))
}

// pollNode reads the node's state, for a request that was done at once and needed no operation.
func (t *Target) pollNode(ctx context.Context, c *client.Client) {
	n, err := c.Node(ctx, t.Name, "provision_state")
	if ctx.Err() != nil {
		return
	}
	t.Done, t.Err = true, err
	if err == nil {
		t.NodeState = n.ProvisionState
	}
}

// followUndeploy goes on with the undeploy, which the API opens in the transaction that ends the operation before it.
func (t *Target) followUndeploy(ctx context.Context, c *client.Client) {
	list, err := c.Operations(ctx, client.OperationFilter{Node: t.Op.NodeUUID, Kind: string(node.KindUndeploy)}, 1)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		t.Done, t.Err = true, fmt.Errorf("look what follows operation %s: %w", t.ID, err)
	case len(list.Items) == 0 || !client.Newer(list.Items[0].ID, t.ID):
		t.Done, t.Err = true, fmt.Errorf("operation %s ended as %s, and nothing gives the node back", t.ID, t.Op.Outcome)
	default:
		t.ID, t.Op = list.Items[0].ID, &list.Items[0]
	}
}

// powerChanged reports whether an open operation has carried out a power request: it has taken the request up, and the
// power steps, which it puts before the step that waited, have ended.
func powerChanged(op *client.Operation) bool {
	at := op.Current()
	return op.Asked != client.AskPower && (at == nil || ruleOf(at).Power == "")
}

// kindOf returns the row of the table of kinds for an operation.
func kindOf(op *client.Operation) node.KindSpec { return node.OperationKind(op.Kind).Spec() }

// ruleOf returns the row of the table of steps for a step.
func ruleOf(s *client.Step) node.StepRule {
	return node.Step{Interface: s.Interface, Step: s.Step}.Rule()
}

// unfinished says that an operation has not ended, and whether the time was up or somebody interrupted.
func unfinished(ctx context.Context, t *Target, wait time.Duration) error {
	if t.ID == "" { // a request that only changes the state
		code := exit.CodeInterrupted
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			code = exit.CodeUnknown
		}
		return exit.WithCode(code, fmt.Errorf("the request was accepted, but the node's state was not read; temper node show %s shows it", t.Name))
	}
	what, at := "operation "+t.ID, ""
	if t.Op != nil {
		what = fmt.Sprintf("operation %s (%s)", t.ID, t.Op.Kind)
		at = ", it is " + State(t.Op)
		if s := t.Op.Current(); s != nil {
			at += " at " + s.Name() + table.Optional(" after ", table.Clause(s.LastError))
		}
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err := fmt.Errorf("%s has not ended within %s%s; temper operation watch %s stays with it", what, wait, at, t.ID)
		return exit.WithCode(exit.CodeUnknown, err)
	}
	return exit.WithCode(exit.CodeInterrupted, fmt.Errorf("%s goes on%s; temper operation cancel %s ends it", what, at, t.ID))
}
