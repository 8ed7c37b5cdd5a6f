package node

import "time"

// Taking has what Operation.Take decides by. Package store reads it under the lock of the operation's row. Started is Temporal's time, the
// other times are the database's.
type Taking struct {
	Claim       Claim
	Started     time.Time // when Temporal began the attempt; zero = it does not say
	Conductor   string
	Incarnation int64 // of the process that takes it; 0 = it is not registered
	Now         time.Time

	Last LastClaim
	// Outage is how much of the time since the current step began, or since the last claim if that is later, was outage.
	Outage time.Duration
	// DatabaseAway: the database was away after the last claim and until a moment ago, so that a conductor which stopped working on the
	// step could not record that.
	DatabaseAway bool
	// LeftByRun: another run of the workflow got the operation after the last claim, which ended that. Its conductor was not lost.
	LeftByRun bool
}

// LastClaim is the claim that a process finds, and the newest process that has the name of its conductor.
type LastClaim struct {
	Started     *time.Time
	Incarnation int64      // the process that had the claim
	Empty       bool       // nothing was written under it
	LostAt      *time.Time // the last heartbeat of that process, if another one has registered under its name while the claim was empty

	Newest                 int64 // 0 = there is no conductor of that name
	HeartbeatAt, StoppedAt *time.Time
}

// afterReset is more attempts than an activity ever has under way at once: one that was begun before the activity was reset, and claims
// late, has a lower number.
const afterReset = 1000

// Take gives o to the process that claims it, and returns the events of that. It reports false if a newer claim is there.
//
// Somebody who resets the activity in Temporal has its attempts counted from one again. The one that began later is the newer
// one then, and its claim gets a number that no attempt of before the reset has.
func (o *Operation) Take(t Taking) (told []Told, taken bool) {
	before, claim := o.Snapshot(), t.Claim
	switch later := claim.Seq > o.Claim.Seq || claim.Seq == o.Claim.Seq && claim.Attempt > o.Claim.Attempt; {
	case later:
	case claim.Seq == o.Claim.Seq && t.Last.Started != nil && t.Last.Started.Before(t.Started):
		claim.Attempt = o.Claim.Attempt + afterReset
	default:
		return nil, false
	}
	// Temporal begins nothing that is paused: a first attempt, or any of an activity that was paused, says that the pause is over. Other
	// attempts of an activity that was begun before its workflow was paused go on meanwhile.
	if p := o.TemporalPause; p != nil && (claim.Seq > o.Claim.Seq || p.What == PauseOfActivity) {
		o.TemporalPause = nil
	}
	o.postponeUsual(t.Outage) // nothing goes on during an outage
	o.Claim, o.ClaimedAt, o.Conductor, o.Orphaned, o.Former = claim, &t.Now, t.Conductor, false, before.lostConductor(t)

	if before.Conductor != "" && before.Conductor != t.Conductor {
		told = append(told, Told{Type: "operation.handed_over", Data: map[string]any{"from": before.Conductor, "to": t.Conductor}})
	}
	return withEntries(append(told, o.changes(&before)...), append(before.takingEntry(t), o.entries(&before, false)...)), true
}

// lostConductor returns the conductor that died while it had the last claim of o, nil if there is no sign of its death. It died of the
// step if nothing has come of its claim, and either another process has registered under its name since, or its process is the newest of its
// name, has not stopped, and is another one than the process that claims now.
func (o *Operation) lostConductor(t Taking) *FormerConductor {
	last := t.Last
	f := &FormerConductor{Conductor: o.Conductor, Incarnation: last.Incarnation, Undoing: o.Phase == Undoing}
	other := o.Conductor != t.Conductor || last.Incarnation != t.Incarnation
	switch {
	case !last.Empty || o.ClaimedAt == nil:
		return nil
	case last.LostAt != nil:
		f.SeenAt, f.Replaced = *last.LostAt, true
	case other && last.Newest == last.Incarnation && last.StoppedAt == nil && last.HeartbeatAt != nil:
		f.SeenAt = *last.HeartbeatAt
	default:
		return nil
	}
	f.ClaimedAt = *o.ClaimedAt
	return f
}

// takingEntry returns the entry of the timeline that another process, or the same one again, takes o. A conductor that stops working on a
// step or an undo in good order records that (Rests): it was cancelled, stopped, paused or reset, or its try has failed. If it has not, and another
// process takes o, then it was lost.
func (o *Operation) takingEntry(t Taking) []TimelineEntry {
	e := TimelineEntry{Step: o.runningStep(), Conductor: t.Conductor, Former: o.Conductor}
	same := t.Conductor == o.Conductor
	switch atWork := e.Step != "" || o.Phase == Undoing; {
	case o.Conductor == "":
		return []TimelineEntry{{What: TimelineTakenUp, Conductor: t.Conductor, Since: &o.AcceptedAt}}
	case o.Rests || !atWork || t.LeftByRun:
		if same {
			return nil
		}
		e.What, e.Since = TimelineHandedOver, o.ClaimedAt
	case same && t.Incarnation == t.Last.Incarnation: // it could not record how its try ended
		if e.Step == "" || t.Claim.Seq != o.Claim.Seq {
			return nil
		}
		e.What = TimelineTakenUp
	default:
		e.What, e.Since, e.Words = TimelineTakenOver, o.lastSign(t.Last), lossOf(t)
	}
	return []TimelineEntry{e}
}

// lastSign returns when the conductor of o was known to live last.
func (o *Operation) lastSign(last LastClaim) *time.Time {
	switch beat := last.HeartbeatAt; {
	case last.LostAt != nil:
		return last.LostAt
	case beat == nil || o.ClaimedAt != nil && o.ClaimedAt.After(*beat):
		return o.ClaimedAt
	default:
		return beat
	}
}

// lossOf returns how the conductor was lost that had the last claim.
func lossOf(t Taking) string {
	switch {
	case t.Last.LostAt != nil || t.Last.Newest != t.Last.Incarnation:
		return lostReplaced
	case t.Last.StoppedAt != nil:
		return lostStopped
	case t.DatabaseAway:
		return lostDatabase
	}
	return lostSilent
}

// runningStep names the step that runs; "" = none does, or o is undone.
func (o *Operation) runningStep() string {
	if o.Phase == Undoing {
		return ""
	}
	for i := range o.Steps {
		if o.Steps[i].State == StepRunning {
			return o.Steps[i].Name()
		}
	}
	return ""
}
