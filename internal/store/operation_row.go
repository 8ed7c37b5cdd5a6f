package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// operationColumns are of operations o, which may be the empty side of a join.
const operationColumns = `
	coalesce(o.id, 0), coalesce(o.node_uuid::text, ''), coalesce(o.node_name, ''), coalesce(o.kind, ''), coalesce(o.phase, ''),
	coalesce(o.outcome, ''), coalesce(o.error, ''), coalesce(o.requested_by, ''), coalesce(o.origin, ''), coalesce(o.target, ''),
	coalesce(o.power_target, ''), coalesce(o.soft_timeout_ms, 0), coalesce(o.accepted_at, 'epoch'), o.begun_at, o.ended_at,
	coalesce(o.run_id, ''), coalesce(o.claim_seq, 0), coalesce(o.claim_attempt, 0), coalesce(o.conductor, ''),
	coalesce(o.conductor_group, ''), coalesce(o.driver, ''), coalesce(o.waiting_for, ''), o.waiting_until, o.steps, o.undo,
	coalesce(o.asked, ''), coalesce(o.asked_by, ''), coalesce(o.asked_reason, ''), coalesce(o.asked_power, ''), o.asked_at,
	coalesce(o.retry_of, 0), coalesce(o.follow_up, 0), coalesce(o.stalled, ''), o.stalled_at, coalesce(o.paused, false),
	coalesce(o.in_maintenance, false), coalesce(o.rests, false), coalesce(o.on_failure, ''), o.decisions,
	o.temporal_pause, o.claimed_at, coalesce(o.kept_for, ''), o.kept_left, coalesce(o.orphaned, false)`

// operationFields are the bare names of what operationColumns reads.
const operationFields = `
	id, node_id, node_uuid, node_name, kind, phase, outcome, error, requested_by, origin, target, power_target, soft_timeout_ms,
	accepted_at, begun_at, ended_at, run_id, claim_seq, claim_attempt, conductor, conductor_group, driver, waiting_for,
	waiting_until, steps, undo, asked, asked_by, asked_reason, asked_power, asked_at, retry_of,
	follow_up, stalled, stalled_at, paused, in_maintenance, rests, on_failure, decisions, temporal_pause, claimed_at, kept_for, kept_left, orphaned`

// operationRow takes one row's columns; into gives the places in their order.
type operationRow struct {
	op     node.Operation
	softMS int64
}

func (r *operationRow) into() []any {
	o := &r.op
	return []any{
		&o.ID, &o.NodeUUID, &o.NodeName, &o.Kind, &o.Phase,
		&o.Outcome, &o.Error, &o.RequestedBy, &o.Origin, &o.Target,
		&o.PowerTarget, &r.softMS, &o.AcceptedAt, &o.BegunAt, &o.EndedAt,
		&o.RunID, &o.Claim.Seq, &o.Claim.Attempt, &o.Conductor,
		&o.Group, &o.Driver, &o.WaitingFor, &o.WaitingUntil, &o.Steps, &o.Undo,
		&o.Asked, &o.AskedBy, &o.AskedReason, &o.AskedPower, &o.AskedAt,
		&o.RetryOf, &o.FollowUp, &o.Stalled, &o.StalledAt, &o.Paused,
		&o.InMaintenance, &o.Rests, &o.OnFailure, &o.Decisions, &o.TemporalPause, &o.ClaimedAt, &o.KeptFor, &o.KeptLeft, &o.Orphaned,
	}
}

// operation is the row's; nil where the join found none.
func (r *operationRow) operation() *node.Operation {
	if r.op.ID == 0 {
		return nil
	}
	o := r.op
	o.SoftTimeout = time.Duration(r.softMS) * time.Millisecond
	o.WorkflowID = node.WorkflowID(o.NodeUUID, o.Kind, o.ID)
	return &o
}

func scanOperation(row pgx.Row) (node.Operation, error) {
	var r operationRow
	if err := row.Scan(r.into()...); err != nil {
		return node.Operation{}, err
	}
	return *r.operation(), nil
}
