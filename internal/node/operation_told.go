package node

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// Snapshot returns a copy of o as it is before a change, for Tell.
func (o *Operation) Snapshot() Operation {
	was := *o
	was.Steps = slices.Clone(o.Steps)
	return was
}

// Tell compares o with before, the same operation before a change, and returns the events of that change, oldest first, with the entries of
// the timeline. Each step that has begun, begun again, failed or ended has an event of its own. Events never contain the arguments of
// steps, because these may be secret. Package store adds the operation's state to events whose type begins with "operation.", and writes
// operation.accepted and operation.begun.
func (o *Operation) Tell(before *Operation) []Told {
	return withEntries(o.changes(before), o.entries(before, false))
}

// TellSave is Tell for the save of a conductor, which adds news to the timeline. It leaves out requests, decisions and pauses, because whoever
// wrote them has written their events too.
func (o *Operation) TellSave(before Operation, news []News) []Told {
	before.Asked, before.Paused, before.TemporalPause, before.Decisions = o.Asked, o.Paused, o.TemporalPause, o.Decisions
	var entries []TimelineEntry
	for _, n := range news {
		entries = append(entries, TimelineEntry{What: n.What, Step: n.Step, Conductor: o.Conductor, Words: n.Words})
	}
	return withEntries(o.changes(&before), append(entries, o.entries(&before, len(news) > 0)...))
}

// changes returns the events of Tell.
func (o *Operation) changes(before *Operation) (out []Told) {
	tell := func(eventType string, data map[string]any) {
		e := Told{Type: eventType, Data: data}
		if data["error"] != nil {
			e.Cause = o.Cause
		}
		out = append(out, e)
	}
	if o.Asked != AskNone && o.Asked != before.Asked {
		tell("operation.asked", given(map[string]any{"asked": o.Asked, "by": o.AskedBy, "reason": o.AskedReason, "to_power": o.AskedPower}))
	}
	if len(o.Decisions) > len(before.Decisions) {
		d := o.Decisions[len(o.Decisions)-1]
		data := given(map[string]any{"action": d.Action, "reason": d.Reason, "step": d.Step})
		data["by"] = d.By
		tell("operation.decided", data)
	}
	switch paused, was := o.Paused || o.TemporalPause != nil, before.Paused || before.TemporalPause != nil; {
	case paused && !was && o.Paused:
		tell("operation.paused", map[string]any{"paused_by": "maintenance"})
	case paused && !was:
		tell("operation.paused", map[string]any{"paused_by": "temporal"})
	case was && !paused:
		tell("operation.unpaused", map[string]any{})
	}
	out = append(out, o.tellSteps(before)...)
	o.tellPhase(before, tell)
	return out
}

func (o *Operation) tellPhase(before *Operation, tell func(string, map[string]any)) {
	data := given(map[string]any{"waiting_for": o.WaitingFor, "waiting_until": toldTime(o.WaitingUntil)})
	switch {
	case o.Phase == Waiting && (before.Phase != Waiting || o.WaitingFor != before.WaitingFor || o.Blocked != before.Blocked):
		if o.Blocked != NotBlocked {
			data["stalled"] = o.Blocked
		}
		tell("operation.waiting", data)
	case o.Phase != before.Phase && (o.Phase == Holding || o.Phase == Undoing), o.Phase == Running && (before.Phase == Waiting || before.Phase == Holding):
		if o.Error != "" {
			data["error"] = o.Error
		}
		tell("operation."+string(o.Phase), data)
	case before.EndedAt == nil && o.EndedAt != nil:
		tell("operation.ended", given(map[string]any{"outcome": o.Outcome, "error": o.Error}))
		if o.PowerTarget != "" {
			status := "error"
			if o.Outcome == Succeeded {
				status = "end"
			}
			tell("baremetal.node.power_set."+status, given(map[string]any{"to_power": o.PowerTarget, "error": o.Error}))
		}
	}
}

func (o *Operation) tellSteps(before *Operation) (out []Told) {
	for i := range o.Steps {
		s, was := &o.Steps[i], Step{}
		if i < len(before.Steps) {
			was = before.Steps[i]
		}
		e := Told{}
		switch {
		case s.State == StepFailed && was.State != StepFailed || s.Failures > was.Failures:
			e.Type, e.Cause = "step.failed", s.Cause
		case (s.Over() || s.State == StepCancelled) && s.State != was.State:
			e.Type = "step.ended"
		case s.State == StepRunning && s.Attempts > was.Attempts:
			e.Type = "step.begun"
		default:
			continue
		}
		e.Data = given(map[string]any{
			"step": s.Step, "interface": s.Interface, "step_state": s.State, "failures": s.Failures, "conductor": s.Conductor, "note": s.Note,
		})
		e.Data["index"], e.Data["attempts"] = s.Index, s.Attempts
		if e.Type == "step.failed" && s.LastError != "" {
			e.Data["error"] = s.LastError
		}
		out = append(out, e)
	}
	return out
}

// given returns data without what is zero.
func given(data map[string]any) map[string]any {
	maps.DeleteFunc(data, func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
	return data
}

// toldTime returns a time as events have it, which is PostgreSQL's form of it; "" = nil.
func toldTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999+00:00")
}
