package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// walk is an operation in the database, and what it must be by node.OperationRules.
type walk struct {
	testing.TB
	*rand.Rand
	s    *store.Store
	url  string
	node *node.Node
	want node.Operation
	seen map[node.OperationEvent]bool
	log  []string
}

// near is by how much the times of the database and of the test may differ.
const near = 2 * time.Minute

// Random events happen to operations in the database, and to the same operations in Go.
// After each both are the same, and everything that must always hold does.
// There are at least six walks, and as many more as it takes until every event has happened: the table refuses most
// decisions, so that six walks can pass without one.
func TestTheDatabaseFollowsTheTableOfOperations(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	joins(t, s, "c1")
	joins(t, s, "c2")
	seen := map[node.OperationEvent]bool{}
	var missing []node.OperationEvent
	for _, r := range node.OperationRules {
		missing = append(missing, r.Event)
	}
	for i := 0; i < 6 || len(missing) > 0 && i < 60; i++ {
		seed := uint64(time.Now().UnixNano()) + uint64(i)
		w := &walk{TB: t, Rand: rand.New(rand.NewPCG(seed, 1)), s: s, url: url, seen: seen, log: []string{fmt.Sprint("seed ", seed)}}
		w.run(150)
		missing = slices.DeleteFunc(missing, func(e node.OperationEvent) bool { return seen[e] })
	}
	require.Empty(t, missing, "these events have not happened")
}

func (w *walk) run(steps int) {
	w.node = create(w, w.s, node.Available)
	o, err := w.s.Request(w.Context(), w.node.UUID, deploy)
	require.NoError(w, err)
	w.want = *o
	w.happened(node.OpAccept, "")
	events := []func(){
		w.begin, w.claim, w.claim, w.record, w.record, w.record, w.record, w.tell, w.handOver, w.block, w.block, w.block, w.arrive, w.maintain, w.maintain,
		w.pause, w.unpause, w.ask, w.hold, w.decide, w.fail, w.lose, w.adopt, w.redirect,
	}
	for range steps {
		events[w.IntN(len(events))]()
		w.compare()
	}
	w.end()
}

// happened records an event.
func (w *walk) happened(e node.OperationEvent, detail any) {
	w.seen[e] = true
	w.log = append(w.log, fmt.Sprintf("%s %v: %s", e, detail, w.want.Phase))
}

func (w *walk) fine(err error) { require.NoError(w, err, "after %v", w.log) }

// expect requires that the store refuses exactly what Go refuses.
func (w *walk) expect(want, have error) bool {
	require.Equal(w, want == nil, have == nil, "Go: %v, the store: %v, after %v", want, have, w.log)
	return want == nil
}

func (w *walk) begun() bool { return w.want.Phase != node.Accepted }

func (w *walk) begin() {
	o, err := w.s.Begin(w.Context(), w.want.ID, w.want.WorkflowID, "r1")
	if w.want.RunID != "" && w.want.RunID != "r1" {
		kind(w, fault.Lost, err)
		return
	}
	w.fine(err)
	if w.want.RunID, w.want.BegunAt = "r1", o.BegunAt; w.want.Phase == node.Accepted {
		w.want.Phase = node.Running
	}
	w.happened(node.OpBegin, "")
}

// claim takes the claim for a new activity, or for another attempt at the same one.
func (w *walk) claim() {
	if !w.begun() {
		return
	}
	c, another := node.Claim{Seq: w.want.Claim.Seq + 1, Attempt: 1}, w.IntN(2) == 0
	if another {
		c = node.Claim{Seq: w.want.Claim.Seq, Attempt: w.want.Claim.Attempt + 1}
	}
	host := fmt.Sprintf("c%d", 1+w.IntN(2))
	_, err := w.s.Claim(w.Context(), w.want.ID, w.want.RunID, c, time.Time{}, host)
	w.fine(err)
	w.want.Claim, w.want.Conductor, w.want.Orphaned = c, host, false
	if p := w.want.TemporalPause; p != nil && (!another || p.What == node.PauseOfActivity) {
		w.want.TemporalPause = nil
	}
	w.happened(node.OpClaim, c)
}

func (w *walk) record() {
	if !w.begun() {
		return
	}
	event := map[node.Phase]node.OperationEvent{
		"": node.OpRecord, node.Running: node.OpRun, node.Waiting: node.OpWait, node.Holding: node.OpHold, node.Undoing: node.OpUndo,
	}
	p := node.Progress{Steps: slices.Clone(w.want.Steps), Undo: []node.Undo{node.UndoEjectMedia}, Rests: w.IntN(2) == 0, ClearAsk: w.IntN(3) == 0}
	if p.Phase = []node.Phase{"", node.Running, node.Waiting, node.Holding, node.Undoing}[w.IntN(5)]; p.Phase == node.Undoing && w.IntN(5) > 0 {
		p.Phase = "" // seldom, because only a reset leads out of this phase
	}
	if p.Phase == node.Waiting {
		until := time.Now().Add(time.Duration(1+w.IntN(9)) * time.Hour)
		p.WaitingFor, p.WaitingUntil = "the agent", &until
	}
	step := &p.Steps[0]
	step.State = []node.StepState{node.StepPending, node.StepRunning, node.StepWaiting, node.StepDone}[w.IntN(4)]
	if step.StartedAt = nil; w.IntN(2) == 0 {
		step.StartedAt = ptr(time.Now())
	}
	step.Abortable, step.Attempts, step.Phase = w.IntN(2) == 0, w.IntN(3), []string{"", node.PhaseBooted}[w.IntN(2)]
	if w.want.Record(p) != nil {
		return // conductors do not try what the table lacks: task.save of activities/conductor
	}
	asked, err := w.s.SaveSteps(w.Context(), w.want.ID, w.want.Claim, p)
	w.fine(err)
	require.Equal(w, w.want.PendingAsk(), asked, w.log)
	w.happened(event[p.Phase], p)
}

func (w *walk) tell() {
	if !w.begun() {
		return
	}
	now := time.Now().UTC()
	wait := &node.Wait{For: node.WaitPower, Subject: string(node.PowerOff), Since: now, Seen: "On", SeenAt: &now}
	switch w.IntN(4) {
	case 0:
		wait.LateAt, wait.LateCause = ptr(now.Add(time.Minute)), fault.PowerUnchanged
	case 1:
		wait.For = node.WaitAnswer
		wait.Missed("no answer", now)
	}
	known := w.want // its version is old, so that the row is read
	if w.IntN(2) == 0 {
		o, err := w.s.Operation(w.Context(), w.want.ID)
		w.fine(err)
		known = *o
	}
	asked, err := w.s.TellWait(w.Context(), &known, w.want.Claim, wait)
	w.fine(err)
	require.Equal(w, w.want.PendingAsk(), asked, w.log)
	w.want.StepWait = wait
	w.happened(node.OpTell, "")
	_, err = w.s.TellWait(w.Context(), &known, node.Claim{Seq: w.want.Claim.Seq, Attempt: w.want.Claim.Attempt - 1}, nil)
	kind(w, fault.Lost, err)
}

func (w *walk) handOver() {
	if !w.begun() {
		return
	}
	var p *node.Pause
	if w.IntN(2) == 0 {
		p = &node.Pause{What: node.PauseOfActivity, At: time.Now()}
	}
	w.fine(w.s.HandOver(w.Context(), w.want.ID, w.want.Claim, p, node.Progress{}))
	if w.want.Rests = true; w.want.TemporalPause == nil {
		w.want.TemporalPause = p
	}
	w.happened(node.OpHandOver, p != nil)
}

func (w *walk) block() {
	if !w.begun() {
		return
	}
	reason := []node.BlockReason{node.NotBlocked, node.NotBlocked, node.BlockedNoConductor, node.BlockedMaintenance, node.BlockedDeaths}[w.IntN(5)]
	var within *time.Duration
	if w.IntN(2) == 0 {
		within = ptr(time.Duration(1+w.IntN(9)) * time.Hour)
	}
	seq := w.want.Claim.Seq + int64(w.IntN(2))
	after := w.want
	want := after.Block(reason, "something", within, time.Now())
	_, err := w.s.Block(w.Context(), w.want.ID, w.want.RunID, seq, reason, "something", within)
	if !w.expect(want, err) {
		return
	}
	if after.Claim.Seq < seq {
		after.Claim = node.Claim{Seq: seq}
	}
	w.want = after
	w.happened(map[bool]node.OperationEvent{true: node.OpResume, false: node.OpBlock}[reason == node.NotBlocked], reason)
}

func (w *walk) arrive() {
	if !w.begun() {
		return
	}
	w.fine(w.s.GoOn(w.Context(), w.want.ID, w.want.RunID))
	w.want.Arrive()
	w.happened(node.OpArrive, "")
}

func (w *walk) maintain() {
	on := w.IntN(2) == 0
	o, err := w.s.SetMaintenance(w.Context(), w.node.UUID, on, "look", "ann")
	w.fine(err)
	w.fine(w.want.Maintain(on, time.Now()))
	require.Equal(w, w.want.Phase, o.Phase)
	w.happened(map[bool]node.OperationEvent{true: node.OpPause, false: node.OpUnpause}[on], "")
}

// direct changes the operation by the same function in the database and in Go.
func (w *walk) direct(e node.OperationEvent, change func(*node.Operation) error) {
	after := w.want
	after.Steps = slices.Clone(after.Steps)
	want := change(&after)
	_, err := w.s.Direct(w.Context(), w.want.ID, func(n *node.Node) (node.OperationChange, error) { return node.OperationChange{}, change(n.Operation) })
	if w.expect(want, err) {
		w.want = after
		w.happened(e, "")
	}
}

func (w *walk) pause() {
	now := time.Now()
	p := node.Pause{What: []node.PauseOf{node.PauseOfWorkflow, node.PauseOfActivity}[w.IntN(2)], At: now.Add(-time.Duration(w.IntN(4)) * time.Hour), By: "ann"}
	w.direct(node.OpTemporalPause, func(o *node.Operation) error { o.PauseInTemporal(p, now); return nil })
}

func (w *walk) unpause() {
	now := time.Now()
	w.direct(node.OpTemporalUnpause, func(o *node.Operation) error { o.Resume(now); return nil })
}

func (w *walk) ask() {
	a := []node.Ask{node.AskCancel, node.AskAbort, node.AskDelete, node.AskUnhold, node.AskPower, node.AskNone, node.AskNone}[w.IntN(7)]
	o, err := w.s.AskOperation(w.Context(), w.want.ID, a, "ann", "because")
	w.fine(err)
	w.want.Ask(a, "ann", "because")
	require.Equal(w, w.want.State(), o.State())
	w.happened(node.OpAsk, a)
}

func (w *walk) hold() {
	now, seq := time.Now(), w.want.Claim.Seq+1
	w.direct(node.OpHold, func(o *node.Operation) error {
		return o.HoldAt(&o.Steps[0], node.Failure{Error: "no disk", Cause: fault.NoDiskFits}, "a decision", node.Claim{Seq: seq}, now, now.Add(24*time.Hour))
	})
}

func (w *walk) decide() {
	a, now, seq := node.Actions[w.IntN(len(node.Actions))], time.Now(), w.want.Claim.Seq+1
	w.direct(node.OpDecide, func(o *node.Operation) error {
		_, err := o.CarryOut(a, "ann", "", node.Claim{Seq: seq}, now)
		return err
	})
}

func (w *walk) fail() {
	if !w.begun() {
		return
	}
	why := []node.Failure{{}, {Error: "no answer", Cause: fault.BMCSilent}}[w.IntN(2)]
	w.fine(w.s.SetUndo(w.Context(), w.want.ID, w.want.RunID, []node.Undo{node.UndoPowerOff}, why))
	w.want.Fail(why)
	w.want.UsualUntil, w.want.StepWait = nil, nil
	w.happened(node.OpFail, why)
}

func (w *walk) lose() {
	host := fmt.Sprintf("c%d", 1+w.IntN(2))
	joins(w, w.s, host)
	w.want.Orphaned = w.want.Orphaned || w.want.Paused && w.want.Conductor == host
	w.happened(node.OpLose, host)
}

func (w *walk) adopt() {
	if !w.begun() {
		return
	}
	run, reset := fmt.Sprint("r", w.IntN(3)), w.IntN(2) == 0
	w.direct(node.OpAdopt, func(o *node.Operation) error { _, err := o.Adopt(run, reset); return err })
}

func (w *walk) redirect() {
	group := []string{"", "rack"}[w.IntN(2)]
	_, err := w.s.UpdateNode(w.Context(), w.node.UUID, "ann", func(n *node.Node) (node.Secrets, error) {
		n.ConductorGroup = group
		return nil, nil
	})
	w.fine(err)
	w.want.Redirect(group, w.want.Driver)
	w.log = append(w.log, "to group "+group)
}

// compare requires that the row is what it must be.
func (w *walk) compare() {
	have, err := w.s.Operation(w.Context(), w.want.ID)
	w.fine(err)
	type state struct {
		phase, shown                             node.Phase
		blocked                                  node.BlockReason
		asked                                    node.Ask
		keptFor, waitingFor, run, group, askedBy string
		paused, orphaned, rests                  bool
		claim                                    node.Claim
		failure                                  node.Failure
		step                                     node.StepState
		pause                                    node.PauseOf
		until, keptLeft, blockedAt, ended, begun bool
		wait                                     bool
	}
	of := func(o *node.Operation) state {
		s := state{
			o.Phase, o.State(), o.Blocked, o.Asked, o.KeptFor, o.WaitingFor, o.RunID, o.Group, o.AskedBy, o.Paused, o.Orphaned, o.Rests,
			o.Claim,
			node.Failure{Error: o.Error, Cause: o.Cause},
			o.Steps[0].State, "", o.WaitingUntil != nil, o.KeptLeft != nil, o.BlockedAt != nil, o.EndedAt != nil, o.BegunAt != nil, o.StepWait != nil,
		}
		if o.TemporalPause != nil {
			s.pause = o.TemporalPause.What
		}
		return s
	}
	require.Equal(w, of(&w.want), of(have), w.log)
	if have.WaitingUntil != nil {
		require.WithinDuration(w, *w.want.WaitingUntil, *have.WaitingUntil, near, w.log)
	}
	if have.KeptLeft != nil {
		require.InDelta(w, w.want.KeptLeft.Seconds(), have.KeptLeft.Seconds(), near.Seconds(), w.log)
	}
	for _, i := range node.OperationInvariants {
		require.True(w, i.Holds(have), "%s, after %v", i.Words, w.log)
	}
	w.want.WaitingUntil, w.want.KeptLeft = have.WaitingUntil, have.KeptLeft // otherwise small differences would add up
	w.decisions(have)
}

// stored has the columns of an operation that are decided in Go by the whole row.
type stored struct {
	State    node.Phase
	AskedEnd bool
	node.Lateness
}

// decided requires that the row of o has what is decided by it.
func (w *walk) decided(o *node.Operation) {
	have := stored{}
	row := beside(w, w.url).QueryRow(w.Context(), "SELECT state, asked_end, late_at, late_cause, late_cause_at, late_since FROM operations WHERE id = $1", o.ID)
	w.fine(row.Scan(&have.State, &have.AskedEnd, &have.At, &have.Cause, &have.CauseAt, &have.Since))
	want := stored{o.State(), o.Asked.Ends(), o.Lateness()}
	for _, at := range []**time.Time{&want.At, &want.CauseAt, &want.Since, &have.At, &have.CauseAt, &have.Since} {
		if *at != nil {
			*at = ptr((*at).UTC().Truncate(time.Millisecond))
		}
	}
	require.Equal(w, want, have, "%+v, after %v", *o, w.log)
}

// decisions requires that the statements that decide in SQL decide as Go does.
func (w *walk) decisions(o *node.Operation) {
	w.decided(o)
	told, err := w.s.CheckClaim(w.Context(), o.ID, o.Claim)
	w.fine(err)
	require.Equal(w, o.PendingAsk(), told, w.log)
	shown, err := w.s.Operations(w.Context(), node.OperationFilter{Node: o.NodeUUID, Phase: o.State()})
	w.fine(err)
	require.Len(w, shown, 1, "listed as %s, after %v", o.State(), w.log)
	n, cover, err := w.s.Watch(w.Context(), o.ID)
	w.fine(err)
	raw(w, w.url, "UPDATE operations SET asked_at = asked_at - interval '1 hour' WHERE id = $1 AND asked_at IS NOT NULL", o.ID)
	asked, err := w.s.Asked(w.Context())
	w.fine(err)
	repeated := slices.ContainsFunc(asked, func(x node.Operation) bool { return x.ID == o.ID })
	require.Equal(w, n.Operation.CanTakeUp(cover.Covered), repeated, "%+v, after %v", *o, w.log)
	staleWaits := slices.Contains(staleWaits(w, w.s), o.ID)
	require.Equal(w, waitIsStale(n.Operation, cover), staleWaits, "%+v %+v, after %v", *o, cover, w.log)
}

// end ends it, after which nothing changes it any more.
func (w *walk) end() {
	_, err := w.s.CloseOperation(w.Context(), node.End{Operation: w.want.ID, Outcome: node.Cancelled})
	w.fine(err)
	w.happened(node.OpEnd, "")
	o, err := w.s.Operation(w.Context(), w.want.ID)
	w.fine(err)
	for _, i := range node.OperationInvariants {
		require.True(w, i.Holds(o), "%s, after %v", i.Words, w.log)
	}
	require.Equal(w, node.Ended, o.State())
	_, err = w.s.Begin(w.Context(), o.ID, o.WorkflowID, o.RunID)
	kind(w, fault.Lost, err)
	_, err = w.s.Claim(w.Context(), o.ID, o.RunID, node.Claim{Seq: 1000, Attempt: 1}, time.Time{}, "c1")
	kind(w, fault.Lost, err)
	_, err = w.s.SaveSteps(w.Context(), o.ID, o.Claim, node.Progress{Phase: node.Running})
	kind(w, fault.Lost, err)
	kind(w, fault.Lost, w.s.HandOver(w.Context(), o.ID, o.Claim, nil, node.Progress{}))
	_, err = w.s.TellWait(w.Context(), o, o.Claim, &node.Wait{For: node.WaitPower})
	kind(w, fault.Lost, err)
	_, err = w.s.Block(w.Context(), o.ID, o.RunID, 0, node.BlockedNoConductor, "a conductor", nil)
	kind(w, fault.Lost, err)
	w.fine(w.s.GoOn(w.Context(), o.ID, o.RunID))
	_, err = w.s.AskOperation(w.Context(), o.ID, node.AskPower, "ann", "")
	kind(w, fault.Conflict, err)
	_, err = w.s.Direct(w.Context(), o.ID, func(*node.Node) (node.OperationChange, error) { return node.OperationChange{}, nil })
	kind(w, fault.Lost, err)
	after, err := w.s.Operation(w.Context(), o.ID)
	w.fine(err)
	require.Equal(w, o, after)
}
