package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/guards"
	"go.temper.dev/temper/internal/node"
)

// An ask is taken up only where it is one that work goes on after; asks to end
// stay until the operation is closed, whoever wrote them meanwhile.
const saveSetSQL = `
	steps = coalesce(@steps, o.steps), undo = @undo, phase = coalesce(nullif(@phase, ''), o.phase),
	waiting_for = @waiting_for, waiting_until = @waiting_until,
	asked = CASE WHEN @clear_ask AND o.asked IN ('unhold', 'power') THEN '' ELSE o.asked END,
	rests = @rests, stalled = '', stalled_at = NULL, kept_for = '', kept_left = NULL`

// askedNowSQL is what the one at work is told to take up.
const askedNowSQL = `CASE WHEN o.asked = '' AND o.paused THEN 'pause' ELSE o.asked END`

var saveStepsSQL = `
UPDATE operations o SET ` + saveSetSQL + `
 WHERE o.id = @id AND ` + claimHeld + ` AND o.ended_at IS NULL
RETURNING ` + askedNowSQL

// saveNodeSQL locks the node before it writes the operation, as every
// transaction that needs both does. It gives one row whatever happens: asked is
// null where nothing was written.
var saveNodeSQL = `
WITH held AS MATERIALIZED (
	SELECT n.id, n.provision_state, ` + claimHeld + ` AS ours
	  FROM nodes n JOIN operations o ON o.node_id = n.id
	 WHERE o.id = @id AND o.ended_at IS NULL FOR NO KEY UPDATE OF n),
way AS MATERIALIZED (
	SELECT held.id, w.to_state, w.target, w.target_manual, w.clock
	  FROM held LEFT JOIN unnest(@from::text[], @to::text[], @target::text[], @target_manual::text[], @clock::int[])
	       AS w (from_state, to_state, target, target_manual, clock) ON w.from_state = held.provision_state),
op AS (
	UPDATE operations o SET ` + saveSetSQL + `
	  FROM way
	 WHERE o.id = @id AND o.node_id = way.id AND ` + claimHeld + ` AND o.ended_at IS NULL
	   AND (NOT @moves OR way.to_state IS NOT NULL)
	RETURNING ` + askedNowSQL + ` AS asked, way.id, way.to_state, way.clock,
		CASE WHEN o.target = 'manageable' THEN way.target_manual ELSE way.target END AS target),
forgotten AS (DELETE FROM agents a USING op WHERE @clear_agent AND a.node_id = op.id),
token AS (DELETE FROM secrets s USING op WHERE @clear_agent AND s.node_id = op.id AND s.name = 'agent_token'),
written AS (
	UPDATE nodes n SET
		provision_state = coalesce(op.to_state, n.provision_state),
		target_provision_state = coalesce(op.target, n.target_provision_state),
		provision_updated_at = CASE WHEN op.to_state IS NULL THEN n.provision_updated_at ELSE clock_timestamp() END,
		inspection_started_at = CASE WHEN op.clock = 1 THEN clock_timestamp() WHEN op.clock > 1 THEN NULL ELSE n.inspection_started_at END,
		inspection_finished_at = CASE op.clock WHEN 1 THEN NULL WHEN 2 THEN clock_timestamp() ELSE n.inspection_finished_at END,
		power_state = coalesce(nullif(@power, ''), n.power_state),
		power_read_at = CASE WHEN @power = '' THEN n.power_read_at ELSE clock_timestamp() END,
		target_power_state = CASE WHEN @clear_ask THEN NULL ELSE n.target_power_state END,
		boot_mode = coalesce(nullif(@boot_mode, ''), n.boot_mode),
		last_error = coalesce(nullif(@last_error, ''), n.last_error),
		driver_internal_info = n.driver_internal_info || @internal,
		owed = CASE WHEN @clear_owed THEN '[]' ELSE n.owed END,
		owed_tries = CASE WHEN @clear_owed THEN 0 ELSE n.owed_tries END,
		owed_tried_at = CASE WHEN @clear_owed THEN NULL ELSE n.owed_tried_at END,
		updated_at = clock_timestamp()
	  FROM op WHERE n.id = op.id)
SELECT (SELECT op.asked FROM op), coalesce((SELECT held.ours FROM held), false), coalesce((SELECT held.provision_state FROM held), '')`

// SaveSteps writes what a step did, in one statement, and tells what is asked
// now. fault.Lost when the claim is not the newest, fault.NotAllowed when
// p.Move does not fit the state that the node is in; nothing is written then.
func (s *Store) SaveSteps(ctx context.Context, id int64, c node.Claim, p node.Progress) (node.Ask, error) {
	if leavesInstance(p.Move) {
		return s.saveLeaving(ctx, id, c, p)
	}
	a, err := saveArgs(id, c, p)
	if err != nil {
		return "", err
	}
	if touchesNode(p) {
		return s.saveWithNode(ctx, id, c, p, a)
	}
	var ask node.Ask
	found, err := s.one(ctx, "save steps", saveStepsSQL, a, func(r pgx.Row) error { return r.Scan(&ask) })
	if err == nil && !found {
		err = lost(id, c)
	}
	return ask, err
}

func touchesNode(p node.Progress) bool {
	return p.Move != "" || p.Power != "" || p.BootMode != "" || p.LastError != "" || len(p.Internal) > 0 || p.ClearAgent || p.ClearOwed || p.ClearAsk
}

func saveArgs(id int64, c node.Claim, p node.Progress) (args, error) {
	var d dicts
	a := args{
		"id": id, "seq": c.Seq, "attempt": c.Attempt, "undo": d.undo(p.Undo), "phase": p.Phase,
		"waiting_for": words(p.WaitingFor, maxError), "waiting_until": p.WaitingUntil, "clear_ask": p.ClearAsk, "steps": nil, "rests": p.Rests,
	}
	if p.Steps != nil {
		a["steps"] = d.steps(p.Steps)
	}
	return a, d.err
}

func (s *Store) saveWithNode(ctx context.Context, id int64, c node.Claim, p node.Progress, a args) (node.Ask, error) {
	var d dicts
	w := ways[p.Move]
	a["from"], a["to"], a["target"], a["target_manual"], a["clock"] = w.from, w.to, w.target, w.manual, w.clock
	a["moves"], a["clear_agent"], a["clear_owed"] = p.Move != "", p.ClearAgent, p.ClearOwed
	a["power"], a["boot_mode"], a["internal"] = p.Power, p.BootMode, d.dict(p.Internal)
	a["last_error"] = words(p.LastError, maxError)
	if d.err != nil {
		return "", d.err
	}
	var ask *node.Ask
	var ours bool
	var state node.State
	_, err := s.one(ctx, "save steps", saveNodeSQL, a, func(r pgx.Row) error { return r.Scan(&ask, &ours, &state) })
	if err != nil {
		return "", err
	}
	if ask != nil {
		return *ask, nil
	}
	if ours && p.Move != "" {
		if _, err := node.Next(state, p.Move); err != nil {
			return "", err
		}
	}
	return "", lost(id, c)
}

// wayList is what an event does in each state, as columns for unnest.
type wayList struct {
	from, to, target, manual []string
	clock                    []int32
}

// ways is the life-cycle table for saveNodeSQL, by event. The target depends on
// the operation's only where that is manageable (node.TargetIn).
var ways = func() map[node.Event]wayList {
	out := map[node.Event]wayList{"": {}}
	for _, e := range node.Events() {
		var w wayList
		for _, r := range node.Rules {
			if r.Event != e {
				continue
			}
			n := node.Node{ProvisionState: r.From, Operation: &node.Operation{}}
			m, err := node.Move(&n, e)
			n.Operation.Target = node.Manageable
			manual, err2 := node.Move(&n, e)
			if err != nil || err2 != nil {
				continue // it is a rule of the table
			}
			w.from, w.to = append(w.from, string(m.From)), append(w.to, string(m.To))
			w.target, w.manual = append(w.target, string(m.Target)), append(w.manual, string(manual.Target))
			w.clock = append(w.clock, int32(m.Inspection))
		}
		out[e] = w
	}
	return out
}()

// leavesInstance reports whether the event can lead out of deleting, which takes
// the instance off the node: more than one statement.
func leavesInstance(e node.Event) bool { return node.Can(node.Deleting, e) }

// fenced is an operation whose row is locked after its node's, under a claim.
type fenced struct {
	lockedNode
	op node.Operation
	ok bool
}

const (
	lockOperationSQL   = `SELECT ` + operationColumns + ` FROM operations o WHERE o.id = @id FOR NO KEY UPDATE`
	nodeByOperationSQL = `SELECT ` + nodeColumns + ` FROM operations x JOIN nodes n ON n.id = x.node_id` + nodeJoins + ` WHERE x.id = @id`
)

func (f *fenced) queueLock(b *pgx.Batch, id int64) {
	a := args{"id": id}
	b.Queue(lockByOperationSQL, a).QueryRow(maybe(&f.found, func(r pgx.Row) error { return r.Scan(nil, &f.now) }))
	b.Queue(lockOperationSQL, a).QueryRow(maybe(&f.ok, func(r pgx.Row) (err error) {
		f.op, err = scanOperation(r)
		return err
	}))
	b.Queue(nodeByOperationSQL, a).QueryRow(maybe(&f.found, func(r pgx.Row) (err error) {
		f.Node, err = scanNode(r)
		f.allocated = f.AllocationUUID
		return err
	}))
}

// holds reports whether the claim is the newest of an open operation.
func (f *fenced) holds(c node.Claim) bool {
	return f.ok && f.found && f.op.EndedAt == nil && (f.op.Claim == c || !guards.ClaimCheck)
}

// inClaim runs decide under the locks of node and operation, if the claim holds.
func (s *Store) inClaim(ctx context.Context, what string, id int64, c node.Claim, decide func(*fenced, *pgx.Batch) error) error {
	var f fenced
	return s.inTx(ctx, what, func(b *pgx.Batch) { f.queueLock(b, id) }, func(b *pgx.Batch) error {
		if !f.holds(c) {
			return lost(id, c)
		}
		return decide(&f, b)
	})
}

// saveLeaving is SaveSteps where the node may leave deleting: in the same
// transaction its instance goes, with secrets and VIFs.
func (s *Store) saveLeaving(ctx context.Context, id int64, c node.Claim, p node.Progress) (ask node.Ask, err error) {
	a, err := saveArgs(id, c, p)
	if err != nil {
		return "", err
	}
	err = s.inClaim(ctx, "save steps", id, c, func(f *fenced, b *pgx.Batch) error {
		had := places(&f.Node)
		m, err := node.Move(&f.Node, p.Move)
		if err != nil {
			return err
		}
		f.note(p)
		f.moved(m)
		if m.ClearInstance {
			queueClearInstance(b, f.ID)
		}
		if p.ClearAgent {
			queueClearAgent(b, f.ID)
		}
		if err := f.queueState(b, s, had, nil); err != nil {
			return err
		}
		b.Queue(saveStepsSQL, a).QueryRow(func(r pgx.Row) error { return r.Scan(&ask) })
		return nil
	})
	return ask, err
}

// note takes what a step read into the locked node, as saveNodeSQL does.
func (l *lockedNode) note(p node.Progress) {
	if p.Power != "" {
		l.PowerState, l.PowerReadAt = p.Power, &l.now
	}
	if p.BootMode != "" {
		l.BootMode = p.BootMode
	}
	if p.LastError != "" {
		l.LastError = words(p.LastError, maxError)
	}
	for k, v := range p.Internal {
		l.DriverInternalInfo[k] = v
	}
	if p.ClearOwed {
		l.Owed = nil
	}
	if p.ClearAsk {
		l.TargetPowerState = ""
	}
}
