package store

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// This file has every statement that writes the state of an operation: phase, waiting_for and
// waiting_until, stalled, stalled_at, kept_for and kept_left, paused, orphaned, handed_over,
// temporal_pause, step_wait and asked. node.OperationRules says what each event writes, and which phase it
// leads from and to.
//
// What an event writes is decided in Go: the row is locked and read, changed by the methods of node.Operation, and written. The save of a
// conductor knows the row, and writes it if nobody has changed it meanwhile (version). beginSQL, fenceSQL, registerSQL
// and endSQL write without reading, because what they write depends on nothing that they would read.

// decided is the part of an UPDATE of operations that writes what is decided in Go by the whole row (addDecided). SQL selects by it, instead
// of deciding again.
const decided = `state = @state, asked_end = @asked_end, late_at = @late_at, late_cause = @late_cause, late_cause_at = @late_cause_at, late_since = @late_since`

// addDecided adds the parameters of decided. o is the row as it will be.
func addDecided(a args, o *node.Operation) {
	l := o.Lateness()
	a["state"], a["asked_end"], a["late_at"], a["late_cause"], a["late_cause_at"], a["late_since"] = o.State(), o.Asked.Ends(), l.At, l.Cause, l.CauseAt, l.Since
}

// A number that is given (@id) was taken from the sequence before.
var insertOperationSQL = `
WITH o AS (
INSERT INTO operations AS o (id, node_id, node_uuid, node_name, kind, phase, requested_by, origin, target, power_target,
	soft_timeout_ms, accepted_at, conductor_group, driver, steps, undo, retry_of, on_failure, in_maintenance, paused, late_at, model, image)
OVERRIDING SYSTEM VALUE
SELECT @id, n.id, @node_uuid, @node_name, @kind, 'accepted', @requested_by, @origin, @target, @power_target,
	@soft_timeout_ms, clock_timestamp(), @conductor_group, @driver, @steps, @undo, nullif(@retry_of::bigint, 0),
	coalesce(nullif(@on_failure, ''), 'fail'), @in_maintenance, @paused, clock_timestamp() + @take_up_limit::bigint * interval '1 microsecond', node_model(n), image_key(n.instance_info)
  FROM nodes n WHERE n.id = @node_id
RETURNING o.*),
` + acceptedSQL + `
SELECT o.* FROM o`

// acceptedSQL writes the events that the operations o were accepted, and that some of them begin to change the power.
const acceptedSQL = `told AS (
	INSERT INTO events (type, node_id, node_uuid, node_name, owner, lessee, operation_id, kind, data)
	SELECT t.type, o.node_id, o.node_uuid, o.node_name, n.owner, n.lessee, o.id, o.kind, jsonb_strip_nulls(t.data)
	  FROM o JOIN nodes n ON n.id = o.node_id CROSS JOIN LATERAL (VALUES
		(1, 'operation.accepted', jsonb_build_object('state', o.phase, 'requested_by', nullif(o.requested_by, ''), 'target', nullif(o.target, ''), 'retry_of', o.retry_of::text)),
		(2, 'baremetal.node.power_set.start', jsonb_build_object('to_power', o.power_target))) AS t (nr, type, data)
	 WHERE t.nr = 1 OR o.power_target <> '' ORDER BY o.id, t.nr)`

// openUndosSQL opens an undo on each of these nodes, whose rows are locked. plan.FollowUp builds the
// same operation for one node; a test compares the two. Only a node without an earlier failed try
// gets a line in its history, so that repeated tries do not fill it.
var openUndosSQL = `
WITH o AS (
	INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, requested_by, origin, conductor_group, driver, steps, late_at, model, image)
	SELECT n.id, n.uuid, coalesce(n.name, ''), @kind, 'accepted', @by, n.provision_state, n.conductor_group, n.driver, @steps, clock_timestamp() + @take_up_limit::bigint * interval '1 microsecond', node_model(n), image_key(n.instance_info)
	  FROM nodes n WHERE n.id = ANY (@ids) ORDER BY n.id
	ON CONFLICT (node_id) WHERE ended_at IS NULL DO NOTHING
	RETURNING *),
tried AS (
	UPDATE nodes n SET owed_tried_at = clock_timestamp(), owed_tries = n.owed_tries + 1 FROM o WHERE n.id = o.node_id),
` + acceptedSQL + `,
history AS (
	INSERT INTO events (node_id, node_uuid, node_name, owner, lessee, operation_id, text, event_type, username, state, target_state)
	SELECT n.id, n.uuid, coalesce(n.name, ''), n.owner, n.lessee, o.id, 'undo accepted', @type, @by, ` + stateValues + `
	  FROM o JOIN nodes n ON n.id = o.node_id WHERE n.owed_error IS NULL)
SELECT o.* FROM o ORDER BY o.id`

// beginSQL writes the event that the operation was begun, once. It also returns whether a conductor covers the node, and the time.
const beginSQL = `
WITH w AS (
UPDATE operations o SET run_id = @run, begun_at = coalesce(o.begun_at, clock_timestamp()),
	phase = CASE o.phase WHEN 'accepted' THEN 'running' ELSE o.phase END, state = CASE o.state WHEN 'accepted' THEN 'running' ELSE o.state END,
	late_at = CASE WHEN o.begun_at IS NOT NULL THEN o.late_at END
 WHERE o.id = @id AND o.ended_at IS NULL
   AND (o.run_id IS NULL OR o.run_id = @run) AND o.workflow_suffix = @suffix
RETURNING o.*),
told AS (
	INSERT INTO events (type, node_id, node_uuid, node_name, owner, lessee, operation_id, kind, data)
	SELECT 'operation.begun', p.node_id, p.node_uuid, p.node_name, n.owner, n.lessee, p.id, p.kind, jsonb_build_object('state', w.state)
	  FROM w JOIN operations p ON p.id = @id JOIN nodes n ON n.id = p.node_id WHERE p.begun_at IS NULL) -- p = as it was before
SELECT w.*, (SELECT v.covered FROM need_coverage(n.need_id, @timeout) v), clock_timestamp() FROM w JOIN nodes n ON n.id = w.node_id`

// renameWorkflowSQL gives the operation's workflow another id, as long as no workflow has begun.
const renameWorkflowSQL = `
UPDATE operations o SET workflow_suffix = DEFAULT
 WHERE o.id = @id AND o.begun_at IS NULL AND o.ended_at IS NULL AND o.workflow_suffix = @suffix
RETURNING o.*`

// takingSQL reads what node.Operation.Take needs, after lockRunSQL has locked the row. database_was_away is only asked if a conductor may
// have been lost.
const (
	lockRunSQL = `SELECT FROM operations o WHERE o.id = @id AND o.run_id = @run AND o.ended_at IS NULL FOR NO KEY UPDATE`
	takingSQL  = `
SELECT o.*, clock_timestamp(), coalesce((SELECT c.incarnation FROM conductors c WHERE c.hostname = @conductor), 0),
	o.claim_started, o.claim_incarnation, o.claim_empty, o.claim_lost_at, coalesce(c.incarnation, 0), c.heartbeat_at, c.stopped_at,
	CASE WHEN o.usual_until IS NULL THEN interval '0' ELSE outage_time(greatest(o.claimed_at, (
		SELECT max(greatest((s ->> 'started_at')::timestamptz, (s ->> 'ended_at')::timestamptz)) FROM jsonb_array_elements(o.steps) AS s)), @timeout) END,
	CASE WHEN o.conductor <> '' AND NOT o.handed_over THEN database_was_away(o.claimed_at) ELSE false END,
	o.claim_attempt = 0 AND EXISTS (SELECT FROM events e
		WHERE e.operation_id = o.id AND e.operation_seq > 0 AND e.entry ->> 'what' = @another_run AND e.at >= o.claimed_at)
  FROM operations o LEFT JOIN conductors c ON c.hostname = o.conductor
 WHERE o.id = @id AND o.run_id = @run AND o.ended_at IS NULL`
)

// claimSQL writes the claim of a row that is locked. n, a and r are those of its node.
var claimSQL = `
WITH w AS (
	UPDATE operations SET claim_seq = @seq, claim_attempt = @attempt, claim_started = @started, claimed_at = @claimed_at, conductor = @conductor,
		claim_incarnation = @incarnation, claim_empty = true, claim_lost_at = NULL, orphaned = @orphaned, temporal_pause = @temporal_pause,
		usual_until = @usual_until, ` + decided + `, entries = entries + @told_entries
	 WHERE id = @id
	RETURNING *),
o AS (SELECT * FROM w),
x AS (SELECT * FROM w),` + operationTold("") + `
SELECT n.*, o.*, a.*, ` + relationsSQL + `,
	(SELECT jsonb_object_agg(u.step, jsonb_build_object('ms', u.usual_ms, 'samples', u.samples, 'basis', u.basis)) FROM usual_times(o.model, o.image, @enough) u),
	q.name, q.conductor, q.repeated, q.left_us, q.answer_within, q.sent
  FROM o JOIN nodes n ON n.id = o.node_id
  CROSS JOIN LATERAL bmc_request_under_way(o.node_id) q
  LEFT JOIN agents a ON a.node_id = n.id`

// fenceSQL raises the claim, so that its holder can't write any more. It returns no row if another
// attempt has taken the claim since the operation was read.
const fenceSQL = `
UPDATE operations o SET claim_seq = o.claim_seq + 1, claim_attempt = 0
 WHERE o.id = @id AND o.ended_at IS NULL AND claim_held(o, @seq, @attempt)
RETURNING o.id`

// saveOperation returns the part of a WITH clause that writes a step's progress (node.Operation.Record) under its claim, and its events. It
// writes nothing if somebody has changed since what was decided by (version). from is the row of the node that was locked before, if
// one was; last is as in operationTold.
func saveOperation(from, last string) string {
	return `
op AS (
UPDATE operations o SET
	version = o.version + 1, steps = @steps, undo = @undo, phase = @phase, ` + decided + `, waiting_for = @waiting_for, waiting_until = @waiting_until, step_wait = @step_wait, asked = @asked,
	handed_over = @handed_over, usual_until = @usual_until, entries = o.entries + @told_entries, claim_empty = o.claim_empty AND NOT @came, stalled = '', stalled_at = NULL, kept_for = '', kept_left = NULL
` + from + `
   AND o.id = @id AND claim_held(o, @seq, @attempt) AND o.version = @version AND o.ended_at IS NULL
RETURNING o.node_id AS id, o.node_id, o.node_uuid, o.node_name, o.kind, o.entries, o.state),
x AS (SELECT * FROM op),` + operationTold(last)
}

// saveStepsSQL writes a step's progress.
var saveStepsSQL = `WITH` + saveOperation(` WHERE true`, "") + `,
` + saveRequestSQL + `
SELECT true FROM op`

// saveRequestSQL is the part of a save that writes what is known of the last request to the BMC. The claim of op holds, so
// nobody else records one.
const saveRequestSQL = `request AS (
	INSERT INTO bmc_requests AS q (node_id, name, repeated, until, answer_within)
	SELECT op.id, @request, @request_repeated, clock_timestamp() + @request_left::bigint * interval '1 microsecond', @answer_within::bigint FROM op WHERE @request_changed OR @answer_within::bigint > 0
	ON CONFLICT (node_id) DO UPDATE SET
		repeated = CASE WHEN @request_changed THEN excluded.repeated ELSE q.repeated END,
		until = CASE WHEN @request_changed THEN excluded.until ELSE q.until END,
		answer_within = coalesce(nullif(excluded.answer_within, 0), q.answer_within))`

// tellWaitSQL writes what a running step waits for, and nothing else: it locks no row but the operation's.
var tellWaitSQL = `
UPDATE operations o SET step_wait = @step_wait, ` + decided + `
 WHERE o.id = @id AND claim_held(o, @seq, @attempt) AND o.version = @version AND o.ended_at IS NULL
RETURNING true`

// saveNodeSQL also writes what the step has read of its node. It locks the node before it writes the operation, as every
// transaction that needs both does.
var saveNodeSQL = `
WITH held AS MATERIALIZED (
	SELECT n.id, n.uuid, coalesce(n.name, '') AS name, n.power_state FROM nodes n JOIN operations o ON o.node_id = n.id
	 WHERE o.id = @id AND o.ended_at IS NULL FOR NO KEY UPDATE OF n),` +
	saveOperation(` FROM held WHERE o.node_id = held.id`, `
	UNION ALL SELECT 'baremetal.node.power_set.end', '', jsonb_build_object('from_power', held.power_state, 'power_state', @power::text)::text, 0, '', '', 1000000
	  FROM op JOIN held ON held.id = op.id WHERE @power <> '' AND held.power_state <> @power AND op.kind <> 'power'`) + `,
forgotten AS (DELETE FROM agents a USING op WHERE @clear_agent AND a.node_id = op.id),
token AS (DELETE FROM secrets s USING op WHERE @clear_agent AND s.node_id = op.id AND s.name = 'agent_token'),
written AS (
	UPDATE nodes n SET
		power_state = coalesce(nullif(@power, ''), n.power_state),
		power_read_at = CASE WHEN @power = '' THEN n.power_read_at ELSE clock_timestamp() - @power_age::bigint * interval '1 microsecond' END,
		target_power_state = CASE WHEN @clear_ask THEN NULL ELSE n.target_power_state END,
		boot_mode = coalesce(nullif(@boot_mode, ''), n.boot_mode),
		last_error = coalesce(nullif(@last_error, ''), n.last_error),
		driver_internal_info = n.driver_internal_info || @internal,
		owed = n.owed - @settled::text[],
		owed_error = CASE WHEN n.owed - @settled::text[] <> '[]' THEN n.owed_error END,
		owed_refused = n.owed - @settled::text[] <> '[]' AND (n.owed_refused OR @refused),
		owed_tries = CASE WHEN n.owed - @settled::text[] <> '[]' THEN n.owed_tries ELSE 0 END,
		owed_tried_at = CASE WHEN n.owed - @settled::text[] <> '[]' THEN n.owed_tried_at END,
		updated_at = clock_timestamp()
	  FROM op WHERE n.id = op.id),
` + saveRequestSQL + `
SELECT true FROM op`

// handOverStepSQL writes to a row that is locked that its conductor has stopped working on the step.
var handOverStepSQL = `
WITH op AS (
UPDATE operations o SET handed_over = true, claim_empty = false, temporal_pause = @temporal_pause, ` + decided + `, version = o.version + 1, entries = o.entries + @told_entries
 WHERE o.id = @id
RETURNING o.node_id AS id, o.node_id, o.node_uuid, o.node_name, o.kind, o.entries, o.state),
x AS (SELECT * FROM op),` + operationTold("") + `,
` + saveRequestSQL + `
SELECT FROM op`

// registerSQL also marks the operations whose conductor has died: another process registers under
// its name, and it had not stopped.
//
// If @contact, it also records that the conductor has just reached Temporal. After everything was
// stopped, the newest recorded contact is old, and conductor_in_contact compares a conductor's own
// contact with it: without the record, the first conductor to register would count as dead until
// some other process has recorded a contact.
const registerSQL = `
WITH died AS MATERIALIZED (SELECT c.hostname, c.incarnation, c.heartbeat_at FROM conductors c WHERE c.hostname = @hostname AND c.stopped_at IS NULL),
held AS MATERIALIZED (
	SELECT o.id FROM operations o JOIN died ON o.conductor = died.hostname
	 WHERE o.ended_at IS NULL AND (o.paused OR o.claim_empty) ORDER BY o.id FOR NO KEY UPDATE OF o),
lost AS (
	UPDATE operations o SET orphaned = o.orphaned OR o.paused,
		claim_lost_at = CASE WHEN o.claim_empty AND o.claim_incarnation = died.incarnation THEN died.heartbeat_at ELSE o.claim_lost_at END
	  FROM held, died WHERE o.id = held.id AND o.conductor = died.hostname),
beat AS (INSERT INTO conductors (hostname, incarnation, conductor_group, interfaces)
VALUES (@hostname, nextval('conductor_incarnations'), @group, @interfaces)
ON CONFLICT (hostname) DO UPDATE SET incarnation = excluded.incarnation, conductor_group = excluded.conductor_group,
	interfaces = excluded.interfaces, started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at,
	polled_at = excluded.polled_at, draining = false, leaving = false, stopped_at = NULL
RETURNING incarnation),` + contactSQL + `
SELECT incarnation FROM beat`

var askSQL = operationUpdate(`
UPDATE operations o SET asked = @ask, asked_by = @by, asked_reason = @reason, asked_power = @power, asked_at = clock_timestamp(),
	on_failure = coalesce(nullif(@on_failure, ''), o.on_failure), ` + decided + `, version = o.version + 1, entries = o.entries + @told_entries
 WHERE o.id = @id AND o.ended_at IS NULL`)

// endSQL ends an operation, and notifies who waits for that; @steps null leaves its steps as they are.
var endSQL = `
WITH x AS (
	UPDATE operations o SET phase = 'ended', state = 'ended', outcome = @outcome, error = nullif(@error, ''), cause = nullif(@cause, ''), ended_at = clock_timestamp(),
		steps = coalesce(@steps, o.steps), waiting_for = '', waiting_until = NULL, usual_until = NULL, step_wait = NULL, late_at = NULL, missing_since = NULL,
		stalled = '', stalled_at = NULL, kept_for = '', kept_left = NULL, paused = false, orphaned = false, temporal_pause = NULL
	 WHERE o.id = @id AND o.ended_at IS NULL
	RETURNING o.id, o.node_id, o.node_uuid, o.node_name, o.kind, o.entries, o.phase AS state),
ended AS (INSERT INTO ended_operations (operation_id) SELECT x.id FROM x ON CONFLICT DO NOTHING),` + operationTold("") + `
SELECT pg_notify('temper_operation_ended', x.node_uuid::text) FROM x WHERE EXISTS (SELECT FROM event_feed f WHERE f.ends_heard_until > clock_timestamp())`

// writeOperationSQL writes back an open operation whose row is locked. @came says that something was
// written under its claim, so that the claim is not empty any more.
var writeOperationSQL = operationUpdate(`
UPDATE operations o SET run_id = nullif(@run, ''), begun_at = CASE WHEN @run <> '' THEN coalesce(o.begun_at, clock_timestamp()) END,
	claim_seq = @seq, claim_attempt = @attempt, claim_empty = o.claim_empty AND NOT @came,
	phase = @phase, waiting_for = @waiting_for, waiting_until = @waiting_until, usual_until = @usual_until, step_wait = @step_wait,
	stalled = @stalled, stalled_at = @stalled_at, kept_for = @kept_for, kept_left = @kept_left,
	paused = @paused, orphaned = @orphaned, temporal_pause = @temporal_pause, conductor_group = @group, driver = @driver,
	steps = @steps, undo = @undo, decisions = @decisions, error = nullif(@error, ''), cause = nullif(@cause, ''),
	asked = @asked, asked_by = @asked_by, asked_reason = @asked_reason,
	asked_at = CASE WHEN @asked = '' THEN NULL WHEN @asked = o.asked THEN o.asked_at ELSE clock_timestamp() END,
	missing_since = CASE WHEN o.run_id IS DISTINCT FROM nullif(@run, '') THEN NULL ELSE o.missing_since END,
	` + decided + `, version = o.version + 1, entries = o.entries + @told_entries
 WHERE o.id = @id`)

// queueWrite queues that o, which was before, is written back, and then read into o.
func queueWrite(b *pgx.Batch, before, o *node.Operation, came bool) error {
	var d dicts
	decisions := o.Decisions
	if decisions == nil {
		decisions = []node.DecisionRecord{}
	}
	a := args{
		"id": o.ID, "run": o.RunID, "seq": o.Claim.Seq, "attempt": o.Claim.Attempt, "came": came, "phase": o.Phase,
		"waiting_for": words(o.WaitingFor, maxError), "waiting_until": o.WaitingUntil, "usual_until": o.UsualUntil,
		"stalled": o.Blocked, "stalled_at": o.BlockedAt, "kept_for": words(o.KeptFor, maxError), "kept_left": o.KeptLeft,
		"paused": o.Paused, "orphaned": o.Orphaned, "temporal_pause": d.pause(o.TemporalPause), "step_wait": d.stepWait(o.StepWait), "group": o.Group, "driver": o.Driver,
		"steps": d.steps(o.Steps), "undo": d.undo(o.Undo), "decisions": d.of(decisions),
		"error": failure(o.Error), "cause": o.Cause,
		"asked": o.Asked, "asked_by": words(o.AskedBy, 255), "asked_reason": words(o.AskedReason, maxError),
	}
	addDecided(a, o)
	if err := cmp.Or(d.err, addOperationTold(a, o.Tell(before))); err != nil {
		return err
	}
	b.Queue(writeOperationSQL, a).QueryRow(func(r pgx.Row) (err error) {
		*o, err = scanOperation(r)
		return err
	})
	return nil
}

const (
	lockOpenSQL = `
SELECT o.*, clock_timestamp(), (SELECT a.first_heartbeat_at FROM agents a WHERE a.node_id = o.node_id)
  FROM operations o WHERE o.id = @id AND o.run_id = @run AND o.ended_at IS NULL FOR NO KEY UPDATE`
	lockOpenByUUIDSQL = `SELECT o.* FROM operations o WHERE o.node_id = (SELECT n.id FROM nodes n WHERE n.uuid = @ident) AND o.ended_at IS NULL FOR NO KEY UPDATE`
	lockOpenByNameSQL = `SELECT o.* FROM operations o WHERE o.node_id = (SELECT n.id FROM nodes n WHERE n.name = @ident) AND o.ended_at IS NULL FOR NO KEY UPDATE`
)

// change edits an open operation of a run under its row's lock. fault.Lost when the run is
// another one or the operation has ended; edit may return errLeave.
func (s *Store) change(ctx context.Context, what string, id int64, runID string, edit func(*node.Operation, time.Time) error) (*node.Operation, error) {
	var o node.Operation
	var now time.Time
	var called *time.Time
	var found bool
	err := s.inTx(ctx, what, func(b *pgx.Batch) {
		b.Queue(lockOpenSQL, args{"id": id, "run": runID}).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			o, err = scanOperation(r, &now, &called)
			o.CalledAt = called
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found {
			return fault.New(fault.Lost, "operation %d has ended or is another run's", id)
		}
		before := o.Snapshot()
		if err := edit(&o, now); err != nil {
			return err
		}
		return queueWrite(b, &before, &o, false)
	})
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// queueAsk records what is asked of the operation before, and reads it into o. The caller has locked the rows of the node and of the operation, and read
// before under these locks: a row that is not open any more is an error of the program.
func queueAsk(b *pgx.Batch, before node.Operation, st node.Steer, o *node.Operation) error {
	after := before.Snapshot()
	after.Ask(st.Ask, st.By, st.Reason)
	after.AskedPower = st.Power
	a := args{"id": before.ID, "ask": st.Ask, "by": words(st.By, 255), "reason": words(st.Reason, maxError), "power": st.Power, "on_failure": st.OnFailure}
	addDecided(a, &after)
	if err := addOperationTold(a, after.Tell(&before)); err != nil {
		return err
	}
	b.Queue(askSQL, a).QueryRow(func(r pgx.Row) (err error) {
		*o, err = scanOperation(r)
		return err
	})
	return nil
}
