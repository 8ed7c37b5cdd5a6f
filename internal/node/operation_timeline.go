package node

import "slices"

// entries compares o with before, and returns the change as entries of its timeline, oldest first: who stopped, what it waits for, what was
// asked and decided. The operation's row already says when it was accepted, how the latest try of each step went, and how it ended, so
// that these have no entry.
func (o *Operation) entries(before *Operation, news bool) (out []TimelineEntry) {
	if o.EndedAt != nil {
		return nil
	}
	add := func(e TimelineEntry) { out = append(out, e) }
	// A conductor that stops working on a step in good order says so. If it has news, these say why.
	if o.Rests && !before.Rests && o.Phase != Undoing && !news && o.TemporalPause == nil {
		add(TimelineEntry{What: TimelineStopped, Conductor: o.Conductor})
	}
	out = append(out, o.waitEntries(before)...)
	switch decided := len(o.Decisions) > len(before.Decisions); {
	case decided:
		d := o.Decisions[len(o.Decisions)-1]
		add(TimelineEntry{What: TimelineDecided, Step: d.Step, By: d.By, Words: withReason(string(d.Action), d.Reason)})
	case o.Asked != AskNone && o.Asked != before.Asked:
		add(TimelineEntry{What: TimelineAsked, By: o.AskedBy, Words: withReason(string(o.Asked), o.AskedReason)})
	}
	switch p, was := o.TemporalPause, before.TemporalPause; {
	case p != nil && was == nil:
		add(TimelineEntry{What: TimelinePaused, By: p.By, Words: p.Reason})
	case p == nil && was != nil:
		add(TimelineEntry{What: TimelineUnpaused, Since: &was.At})
	}
	if before.RunID != "" && o.RunID != before.RunID {
		add(TimelineEntry{What: TimelineRun})
	}
	return out
}

func (o *Operation) waitEntries(before *Operation) (out []TimelineEntry) {
	blocked, was := o.Blocked != NotBlocked, before.Blocked != NotBlocked
	switch changed := o.Blocked != before.Blocked; {
	case changed && was:
		out = append(out, TimelineEntry{What: TimelineUnblocked, Since: before.BlockedAt, Words: before.WaitingFor})
	case before.Phase == Waiting && o.Phase != Waiting && o.calledSince(before):
		out = append(out, TimelineEntry{What: TimelineCalled, At: *o.CalledAt})
	case before.Phase == Waiting && o.Phase != Waiting:
		out = append(out, TimelineEntry{What: TimelineWaitEnded, Words: before.WaitingFor})
	}
	switch changed := o.Phase != before.Phase; {
	case blocked && o.Blocked != before.Blocked:
		out = append(out, TimelineEntry{What: TimelineBlocked, Words: o.WaitingFor})
	case changed && o.Phase == Waiting && !blocked && !was:
		out = append(out, TimelineEntry{What: TimelineWaiting, Words: o.WaitingFor})
	case changed && o.Phase == Undoing && !blocked && !was:
		out = append(out, TimelineEntry{What: TimelineUndoing, Words: o.WaitingFor})
	case changed && o.Phase == Holding:
		e := TimelineEntry{What: TimelineHeld, Conductor: o.Conductor}
		if i := slices.IndexFunc(o.Steps, func(s Step) bool { return s.State == StepFailed || s.State == StepWaiting }); i >= 0 {
			e.Step, e.Words = o.Steps[i].Name(), o.Steps[i].LastError
		}
		out = append(out, e)
	}
	return out
}

// calledSince reports whether the agent's first call of this boot came while before waited: after the conductor had the claim that
// began to wait.
func (o *Operation) calledSince(before *Operation) bool {
	return o.CalledAt != nil && before.ClaimedAt != nil && o.CalledAt.After(*before.ClaimedAt)
}

func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

// toldWith has, for each kind of entry, the types of the events that describe the same moment. Such an event carries the entry.
var toldWith = map[TimelineWhat][]string{
	TimelineFailed: {"step.failed"}, TimelineHandedOver: {"operation.handed_over"}, TimelineTakenOver: {"operation.handed_over"},
	TimelineWaiting: {"operation.waiting"}, TimelineBlocked: {"operation.waiting"}, TimelineUnblocked: {"operation.running", "operation.waiting"},
	TimelineWaitEnded: {"operation.running"}, TimelineCalled: {"operation.running"}, TimelineHeld: {"operation.holding"}, TimelineUndoing: {"operation.undoing"},
	TimelineDecided: {"operation.decided"}, TimelineAsked: {"operation.asked"}, TimelinePaused: {"operation.paused"}, TimelineUnpaused: {"operation.unpaused"},
}

// withEntries adds the entries of a change to its events. An entry without a matching event becomes an event without a type. It stands before
// the event of the next entry, so that the node's history has the order of the timeline.
func withEntries(told []Told, entries []TimelineEntry) []Told {
	alone := make([]bool, len(entries))
	for i := range entries {
		e := &entries[i]
		e.Seq = i + 1
		same := slices.IndexFunc(told, func(t Told) bool {
			return t.Entry == nil && slices.Contains(toldWith[e.What], t.Type) && (e.What != TimelineFailed || t.step() == e.Step)
		})
		if alone[i] = same < 0; !alone[i] {
			told[same].Entry = e
		}
	}
	next := len(told)
	for i := range slices.Backward(entries) {
		if alone[i] {
			told = slices.Insert(told, next, Told{Entry: &entries[i]})
		} else {
			next = min(next, slices.IndexFunc(told, func(t Told) bool { return t.Entry == &entries[i] }))
		}
	}
	return told
}

// step names the step that an event is about: "interface.step".
func (t Told) step() string {
	s := Step{}
	s.Interface, _ = t.Data["interface"].(string)
	s.Step, _ = t.Data["step"].(string)
	return s.Name()
}
