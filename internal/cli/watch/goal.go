package watch

import (
	"fmt"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// Goal is what must become of an operation for the command to have succeeded.
type Goal int

// The goals.
const (
	// Succeed: the operation succeeds.
	Succeed Goal = iota
	// Cancel: the operation ends cancelled.
	Cancel
	// Undeploy: the node is undeployed. If another operation must end first, the undeploy that follows it counts.
	Undeploy
	// ChangePower: the power is changed. An operation that was under way may do that, and go on afterwards.
	ChangePower
)

// condition says in a command's help when it has succeeded.
func (g Goal) condition() string {
	switch g {
	case Cancel:
		return "the operation has ended cancelled"
	case Undeploy:
		return "the node was given back"
	case ChangePower:
		return "the power was changed"
	}
	return "it succeeded"
}

// outcomeError says why an operation that has ended did not reach the goal. It is nil if it did.
func outcomeError(op *client.Operation, g Goal) error {
	what := fmt.Sprintf("operation %s (%s)", op.ID, op.Kind)
	switch {
	case g == Cancel && op.Outcome == client.Cancelled, g != Cancel && op.Outcome == client.Succeeded:
		return nil
	case op.Outcome == client.Succeeded:
		return fmt.Errorf("%s had succeeded before it could be cancelled", what)
	case op.Outcome == client.Cancelled:
		return fmt.Errorf("%s was cancelled%s%s", what, table.Optional(" by ", op.AskedBy), table.Optional(": ", op.AskedReason))
	}
	at := ""
	if s := op.Current(); s != nil {
		at = " at " + s.Name()
	}
	return fmt.Errorf("%s failed%s: %s; temper operation show %s has its steps", what, at, table.Clause(op.Error), op.ID)
}
