// Package timeline puts what happened to an operation on one line of time.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Moment is a line of an operation's timeline.
type Moment struct {
	At        time.Time
	Until     *time.Time // when a step or a wait that is one line had ended; nil = it is a point in time, or still lasts
	What      string     // accepted, step, ended, left out, outage, or a node.TimelineWhat
	Step      string     // "interface.step"; "" = none
	Conductor string
	Former    string // the conductor before
	By        string // a person
	Text      string
}

// The kinds of lines that are made from the operation's row and from outages.
const (
	momentAccepted = "accepted"
	momentStep     = "step"
	momentEnded    = "ended"
	momentLeftOut  = "left out"
	momentOutage   = "outage"
)

// Of puts everything that happened to o on one line of time, oldest first. A step and a wait
// during which nothing else happened are one line each. outages are those during o.
func Of(o *node.Operation, entries []node.TimelineEntry, outages []node.Outage, now time.Time) []Moment {
	accepted := Moment{At: o.AcceptedAt, What: momentAccepted, By: o.RequestedBy, Text: string(o.Kind) + " accepted" + by(o.RequestedBy)}
	if o.RetryOf != 0 {
		accepted.Text += fmt.Sprintf(", which retries operation %d", o.RetryOf)
	}
	all := append([]Moment{accepted}, waits(inOrder(entries), o, now)...)
	for _, x := range outages {
		all = append(all, outage(x, o, now))
	}
	all = append(all, steps(o, all, now)...)
	if o.EndedAt != nil {
		end := fmt.Sprintf("%s %s after %s", o.Kind, o.Outcome, text.Span(o.EndedAt.Sub(o.AcceptedAt)))
		if o.Error != "" {
			end += ": " + finding.CleanOf(o, o.Error)
		}
		all = append(all, Moment{At: *o.EndedAt, What: momentEnded, Text: end})
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return a.At.Compare(b.At) })
	return all
}

// inOrder returns the entries, which are in the order of their numbers, with times in that order: what one process records happened
// before, as seen by another one, may have the later time. An agent may call before the conductor has seen its server on.
func inOrder(entries []node.TimelineEntry) []node.TimelineEntry {
	out := slices.Clone(entries)
	for i := 1; i < len(out); i++ {
		if out[i].At.Before(out[i-1].At) {
			out[i].At = out[i-1].At
		}
	}
	return out
}

// outageWords say of each part what did not go on.
var outageWords = map[node.OutagePart]string{
	node.OutageOfPostgreSQL: "PostgreSQL %s: no API and no orchestrator reached it",
	node.OutageOfTemporal:   "Temporal %s: no orchestrator reached it, and no workflow went on",
}

// outage returns the line of an outage. If it began before o was accepted, the line is at that time.
func outage(x node.Outage, o *node.Operation, now time.Time) Moment {
	m := Moment{At: x.From, Until: x.Until, What: momentOutage}
	if m.At.Before(o.AcceptedAt) {
		m.At = o.AcceptedAt
	}
	away := "has been away since " + text.Moment(x.From) + " (" + text.Span(now.Sub(x.From)) + ")"
	if x.Until != nil {
		away = "was away for " + text.Span(x.Until.Sub(x.From))
	}
	m.Text = fmt.Sprintf(outageWords[x.Part], away)
	return m
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

// steps makes a line of each step of o that has begun. If something else happened during the step, its end has a line, too.
func steps(o *node.Operation, others []Moment, now time.Time) (out []Moment) {
	for _, s := range o.Steps {
		if s.StartedAt == nil {
			continue
		}
		begin := Moment{At: *s.StartedAt, What: momentStep, Step: s.Name(), Conductor: s.Conductor}
		until, usually := now, ""
		if s.EndedAt != nil {
			until = *s.EndedAt
		} else if s.Usual != nil {
			usually = "; " + s.Usual.Words()
		}
		took := text.Span(until.Sub(*s.StartedAt))
		between := slices.ContainsFunc(others, func(m Moment) bool { return m.At.After(*s.StartedAt) && m.At.Before(until) })
		how := string(s.State)
		if why := finding.Clean(s.LastError); s.State == node.StepFailed && why != "" && !says(others, s.Name(), why) {
			how += ": " + why
		}
		switch {
		case s.EndedAt == nil:
			begin.Text = fmt.Sprintf("step %s is %s, for %s%s", s.Name(), s.State, took, usually)
			out = append(out, begin)
		case !between:
			begin.Until, begin.Text = s.EndedAt, fmt.Sprintf("step %s: %s in %s", s.Name(), how, took)
			out = append(out, begin)
		default:
			begin.Text = fmt.Sprintf("step %s begins", s.Name())
			out = append(out, begin, Moment{
				At: until, What: momentStep, Step: s.Name(), Conductor: s.Conductor, Text: fmt.Sprintf("step %s: %s after %s", s.Name(), how, took),
			})
		}
	}
	return out
}

// says reports whether a line about the step contains words.
func says(lines []Moment, step, words string) bool {
	return slices.ContainsFunc(lines, func(m Moment) bool { return m.Step == step && strings.Contains(m.Text, words) })
}

// endOf are the entries that end a wait.
var endOf = map[node.TimelineWhat][]node.TimelineWhat{
	node.TimelineWaiting: {node.TimelineCalled, node.TimelineWaitEnded},
	node.TimelineBlocked: {node.TimelineUnblocked},
	node.TimelinePaused:  {node.TimelineUnpaused},
	node.TimelineHeld:    {node.TimelineDecided},
}

// whole returns the words of an entry, which are bounded, in full length if they begin an error of o that is known. Else words that
// are cut end with the last one that is whole.
func whole(o *node.Operation, words string) string {
	begin, bounded := node.CutNews(words)
	if !bounded {
		return words
	}
	errors := []string{o.Error}
	for i := range o.Steps {
		errors = append(errors, o.Steps[i].LastError)
	}
	for _, d := range o.Decisions {
		errors = append(errors, d.Error)
	}
	for _, e := range errors {
		if strings.HasPrefix(e, begin) {
			return e
		}
	}
	if last := strings.LastIndexByte(begin, ' '); last > 0 {
		begin = begin[:last]
	}
	return begin + " …"
}

// waits makes a line of each entry, and one of a wait and the entry that ends it if there is nothing between.
func waits(entries []node.TimelineEntry, o *node.Operation, now time.Time) (out []Moment) {
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		e.Words = whole(o, e.Words)
		if left := e.Seq - 1; i == 0 && left > 0 || i > 0 && e.Seq-entries[i-1].Seq > 1 {
			if i > 0 {
				left = e.Seq - entries[i-1].Seq - 1
			}
			out = append(out, Moment{At: e.At, What: momentLeftOut, Text: fmt.Sprintf("%d entries are left out", left)})
		}
		m := Moment{At: e.At, What: string(e.What), Step: e.Step, Conductor: e.Conductor, Former: e.Former, By: e.By, Text: e.Text()}
		ends, waits := endOf[e.What]
		switch {
		case !waits:
		case i+1 < len(entries) && slices.Contains(ends, entries[i+1].What):
			next := entries[i+1]
			m.Until, m.Conductor, m.By = &next.At, cmp.Or(next.Conductor, e.Conductor), cmp.Or(next.By, e.By)
			m.Text = text.Span(next.At.Sub(e.At)) + " " + m.Text
			if next.What != node.TimelineUnblocked && next.What != node.TimelineWaitEnded {
				m.Text += "; " + next.Text()
			}
			i++
		case i+1 == len(entries):
			end := now
			if o.EndedAt != nil {
				end = *o.EndedAt
			}
			m.Text = text.Span(end.Sub(e.At)) + " " + m.Text
		}
		out = append(out, m)
	}
	return out
}
