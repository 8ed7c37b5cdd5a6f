package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// Target is one operation that is followed.
type Target struct {
	Name string // of the node, as the user gave it; "" = not known before the operation was read
	ID   string // of the operation; "" = the request needed none
	Goal Goal

	Op        *client.Operation // as it was read last; nil = not yet
	NodeState string            // provision state of the node, if no operation was needed
	Done      bool              // there is nothing to follow any more
	Err       error             // why it did not reach its goal
}

// poll reads once how far it is. It returns an error, and changes nothing, if the API or its database is away.
func (t *Target) poll(ctx context.Context, c *client.Client) error {
	if t.ID == "" {
		return t.pollNode(ctx, c)
	}
	op, err := c.Operation(ctx, t.ID)
	switch {
	case ctx.Err() != nil:
		return nil // who waits says why
	case client.Away(err):
		return err
	case err != nil && t.Name == "": // nothing is known of it but the number that the user gave
		t.Done, t.Err = true, err
		return nil
	case err != nil:
		t.Done, t.Err = true, exit.WithCode(exit.CodeLost, fmt.Errorf("lost sight of operation %s: %w", t.ID, err))
		return nil
	}
	t.Name = cmp.Or(t.Name, op.Label())
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
		return t.followUndeploy(ctx, c)
	default:
		t.Done, t.Err = true, outcomeError(op, t.Goal)
	}
	return nil
}

// what names what is followed.
func (t *Target) what() string {
	switch {
	case t.ID == "":
		return "node " + t.Name
	case t.Op == nil:
		return "operation " + t.ID
	}
	return fmt.Sprintf("operation %s (%s)", t.ID, t.Op.Kind)
}

// unread describes a target whose operation was not read.
func (t *Target) unread() string {
	state := cmp.Or(t.NodeState, "not seen yet")
	if t.Err != nil {
		state = table.Clause(t.Err.Error())
	}
	return cmp.Or(t.Name, t.what()) + ": " + state
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
		next = "temper node why " + op.Label() + " says what mends it; then decide: " + decisions(op)
		if s != nil {
			at += table.Optional(", which failed: ", table.Clause(s.LastError))
		}
	}
	return exit.WithCode(exit.CodeHeld, fmt.Errorf("operation %s (%s) holds%s; %s", op.ID, op.Kind, at, next))
}

// decisions are the commands with which a person can decide about the step that failed.
func decisions(op *client.Operation) string {
	commands := make([]string, len(op.Choices))
	for i, c := range op.Choices {
		commands[i] = "temper operation " + c + " " + op.ID
	}
	return strings.Join(commands, ", or ")
}

// pollNode reads the node's state, for a request that was done at once and needed no operation.
func (t *Target) pollNode(ctx context.Context, c *client.Client) error {
	n, err := c.Node(ctx, t.Name, "provision_state")
	switch {
	case ctx.Err() != nil:
		return nil
	case client.Away(err):
		return err
	}
	t.Done, t.Err = true, err
	if err == nil {
		t.NodeState = n.ProvisionState
	}
	return nil
}

// followUndeploy goes on with the undeploy, which the API opens in the transaction that ends the operation before it.
func (t *Target) followUndeploy(ctx context.Context, c *client.Client) error {
	list, err := c.Operations(ctx, client.OperationFilter{Node: t.Op.NodeUUID, Kind: string(node.KindUndeploy)}, 1)
	switch {
	case ctx.Err() != nil:
	case client.Away(err):
		return err
	case err != nil:
		t.Done, t.Err = true, fmt.Errorf("look what follows operation %s: %w", t.ID, err)
	case len(list.Items) == 0 || !client.Newer(list.Items[0].ID, t.ID):
		t.Done, t.Err = true, fmt.Errorf("operation %s ended as %s, and nothing gives the node back", t.ID, t.Op.Outcome)
	default:
		t.ID, t.Op = list.Items[0].ID, &list.Items[0]
	}
	return nil
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
