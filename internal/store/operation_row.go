package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// operationRow is a row of operations.
type operationRow struct {
	node.Operation
	softMS int64
	suffix string // of the id of its workflow
}

// operationTable is read only: what writes operations stands in operation_changes.go.
var operationTable = newTable(
	number("id", func(o *operationRow) *int64 { return &o.ID }),
	unread[operationRow]("node_id"),
	text("node_uuid", func(o *operationRow) *string { return &o.NodeUUID }),
	text("node_name", func(o *operationRow) *string { return &o.NodeName }),
	text("kind", func(o *operationRow) *node.OperationKind { return &o.Kind }),
	text("phase", func(o *operationRow) *node.Phase { return &o.Phase }),
	unread[operationRow]("state"),
	number("version", func(o *operationRow) *int64 { return &o.Version }),
	text("outcome", func(o *operationRow) *node.Outcome { return &o.Outcome }),
	text("error", func(o *operationRow) *string { return &o.Error }),
	text("cause", func(o *operationRow) *fault.Code { return &o.Cause }),
	text("requested_by", func(o *operationRow) *string { return &o.RequestedBy }),
	text("origin", func(o *operationRow) *node.State { return &o.Origin }),
	text("target", func(o *operationRow) *node.State { return &o.Target }),
	text("power_target", func(o *operationRow) *node.PowerState { return &o.PowerTarget }),
	number("soft_timeout_ms", func(o *operationRow) *int64 { return &o.softMS }),
	text("on_failure", func(o *operationRow) *node.OnFailure { return &o.OnFailure }),
	instant("accepted_at", func(o *operationRow) *time.Time { return &o.AcceptedAt }),
	optional("begun_at", "", func(o *operationRow) **time.Time { return &o.BegunAt }),
	optional("ended_at", "", func(o *operationRow) **time.Time { return &o.EndedAt }),
	text("run_id", func(o *operationRow) *string { return &o.RunID }),
	text("conductor_group", func(o *operationRow) *string { return &o.Group }),
	text("driver", func(o *operationRow) *string { return &o.Driver }),
	other("steps", func(o *operationRow) *[]node.Step { return &o.Steps }, nil),
	other("undo", func(o *operationRow) *[]node.Undo { return &o.Undo }, nil),
	other("decisions", func(o *operationRow) *[]node.DecisionRecord { return &o.Decisions }, nil),
	number("retry_of", func(o *operationRow) *int64 { return &o.RetryOf }),
	number("follow_up", func(o *operationRow) *int64 { return &o.FollowUp }),

	number("claim_seq", func(o *operationRow) *int64 { return &o.Claim.Seq }),
	number("claim_attempt", func(o *operationRow) *int32 { return &o.Claim.Attempt }),
	unread[operationRow]("claim_started"),
	optional("claimed_at", "", func(o *operationRow) **time.Time { return &o.ClaimedAt }),
	text("conductor", func(o *operationRow) *string { return &o.Conductor }),
	unread[operationRow]("claim_incarnation"),
	unread[operationRow]("claim_empty"),
	unread[operationRow]("claim_lost_at"),
	flag("handed_over", func(o *operationRow) *bool { return &o.Rests }),

	text("waiting_for", func(o *operationRow) *string { return &o.WaitingFor }),
	optional("waiting_until", "", func(o *operationRow) **time.Time { return &o.WaitingUntil }),
	flag("in_maintenance", func(o *operationRow) *bool { return &o.InMaintenance }),
	flag("paused", func(o *operationRow) *bool { return &o.Paused }),
	flag("orphaned", func(o *operationRow) *bool { return &o.Orphaned }),
	text("stalled", func(o *operationRow) *node.BlockReason { return &o.Blocked }),
	optional("stalled_at", "", func(o *operationRow) **time.Time { return &o.BlockedAt }),
	text("kept_for", func(o *operationRow) *string { return &o.KeptFor }),
	optional("kept_left", "", func(o *operationRow) **time.Duration { return &o.KeptLeft }),
	optional("temporal_pause", "", func(o *operationRow) **node.Pause { return &o.TemporalPause }),
	unread[operationRow]("missing_since"),
	optional("step_wait", "", func(o *operationRow) **node.Wait { return &o.StepWait }),
	unread[operationRow]("late_at"),
	unread[operationRow]("late_cause"),
	unread[operationRow]("late_cause_at"),
	unread[operationRow]("late_since"),

	text("asked", func(o *operationRow) *node.Ask { return &o.Asked }),
	unread[operationRow]("asked_end"),
	text("asked_by", func(o *operationRow) *string { return &o.AskedBy }),
	text("asked_reason", func(o *operationRow) *string { return &o.AskedReason }),
	text("asked_power", func(o *operationRow) *node.PowerState { return &o.AskedPower }),
	optional("asked_at", "", func(o *operationRow) **time.Time { return &o.AskedAt }),

	unread[operationRow]("model"),
	unread[operationRow]("image"),
	optional("usual_until", "", func(o *operationRow) **time.Time { return &o.UsualUntil }),
	unread[operationRow]("entries"),
	number("repeats", func(o *operationRow) *int64 { return &o.Repeats }),
	optional("repeats_since", "", func(o *operationRow) **time.Time { return &o.RepeatsSince }),
	unread[operationRow]("repeated_by"),
	text("workflow_suffix", func(o *operationRow) *string { return &o.suffix }),
)

// operation is the row's; nil where an outer join found none.
func (r *operationRow) operation() *node.Operation {
	if r.ID == 0 {
		return nil
	}
	o := r.Operation
	o.SoftTimeout = time.Duration(r.softMS) * time.Millisecond
	o.WorkflowID = node.WorkflowID(o.NodeUUID, o.Kind, o.ID, r.suffix)
	return &o
}

// eachOperation returns a scan of rows of operations (o.*), which may have columns behind these.
func eachOperation(more ...any) func(pgx.Row) (node.Operation, error) {
	scan := eachRow(operationTable, more...)
	return func(r pgx.Row) (node.Operation, error) {
		row, err := scan(r)
		if err != nil {
			return node.Operation{}, err
		}
		return *row.operation(), nil
	}
}

// scanOperation is eachOperation for one row.
func scanOperation(r pgx.Row, more ...any) (node.Operation, error) { return eachOperation(more...)(r) }
