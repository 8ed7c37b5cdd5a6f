package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/text"
)

// StepWait is what a running step waits for, as people and programs are told it.
type StepWait struct {
	For      node.WaitFor
	Subject  string // of For; "" = nothing
	Sentence string // all of it, without a full stop
	Since    *time.Time
	Until    *time.Time // when the step gives up; nil = it does not
	Seen     *Seen      // nil = no look was answered
	Fraction *float64   // from 0 to 1; nil = nobody tells
	Rate     *float64   // bytes a second; nil = not known
	EndsAt   *time.Time // at this speed; nil = not known
}

// Seen is what was seen last, and when.
type Seen struct {
	What string
	At   *time.Time
}

// AgentNotRead stands for the agent of a node that was not read, so that nothing is said about its calls.
var AgentNotRead = &node.Agent{}

// Beside is what is known beside an operation, so that what is said of its step is true.
type Beside struct {
	Node  *node.Node           // of the operation; nil = it was not read, so that nothing is said about the calls of its agent
	Fleet []coverage.Conductor // all conductors, alive or not
	// System is the parts of Temper; the zero value = nothing is known to be broken.
	System status.System
	away   string // the part of Temper without which nothing goes on, and what is wrong with it; "" = none is known
}

// Wait explains what the running step of o waits for, nil if nothing is known.
func Wait(o *node.Operation, b Beside, now time.Time) *StepWait {
	w := waitOf(o, b.Node)
	if w == nil {
		return nil
	}
	b.away = cmp.Or(b.away, b.System.AwayBriefly())
	told := *w
	if step := o.CurrentStep(); step != nil && step.Name() == w.Subject {
		told.Subject = "" // the step is named with the sentence
	}
	how := telling{agent: AgentNotRead, format: func(t time.Time) string { return text.Clock(t, now) }}
	if b.Node != nil {
		how.agent = b.Node.Agent
	}
	how.looks, how.left = b.whoLooks(o, w, now)
	out := &StepWait{
		For: w.For, Subject: w.Subject, Sentence: waitSentence(&told, how, now),
		Since: &w.Since, Until: w.Ends(), Fraction: w.Fraction, EndsAt: w.EndsAt(),
	}
	if words := offMeanwhile(w, b.Node, how.format); words != "" {
		out.Sentence += "; " + words
	}
	if words := attempts(o, now); words != "" {
		out.Sentence += "; " + words
	}
	if w.Until != nil && !how.left {
		out.Sentence += overdue(*w.Ends(), w.AnswerUntil, now, b.away)
	}
	if w.Seen != "" {
		out.Seen = &Seen{What: w.Seen, At: w.SeenAt}
	}
	if w.For == node.WaitCall {
		out.Seen = seenOfAgent(how.agent)
	}
	if w.Rate > 0 && !w.StandsStill() {
		rate := w.Rate
		out.Rate = &rate
	}
	return out
}

// attempts says how many attempts at the current step of o have failed because its agent is silent, and what happens after the last
// one; "" if the step does not wait for a silent agent.
func attempts(o *node.Operation, now time.Time) string {
	w, step := o.LiveWait(), o.CurrentStep()
	if w == nil || w.Unread == "" || w.For != node.WaitCommand && w.For != node.WaitAgent || step == nil || step.Limit == 0 {
		return ""
	}
	after := "the step fails"
	switch {
	case w.For != node.WaitCommand:
	case w.Unanswered && step.Failures == 0 && w.UnreadSince != nil:
		until := text.Clock(w.UnreadSince.Add(node.StallLimit), now)
		return fmt.Sprintf("the first of %d attempts sends it again until %s, and after the last one %s", step.Limit, until, after)
	case !w.Unanswered && step.MayBeginAnew():
		after = "the agent is booted again, and the step begins anew"
	}
	return fmt.Sprintf("%d of %d attempts have failed, and after the last one %s", step.Failures, step.Limit, after)
}

// answersSoon is how long an answer to a request may take before it is told that it has not come.
const answersSoon = 5 * time.Second

// telling is how the sentence about a wait is told.
type telling struct {
	agent  *node.Agent            // of the node, nil = none has called since it was booted
	format func(time.Time) string // how times are written: a text that is read later needs dates
	looks  string                 // instead of when somebody looks again; "" = somebody does
	left   bool                   // nobody attends to it, so that nobody gives up either
}

// waitSentence is WaitSentence as told at now: of a request that was sent just now it says only that.
func waitSentence(w *node.Wait, how telling, now time.Time) string {
	if w.For == node.WaitPower && w.Unanswered && w.Until == nil && now.Sub(w.Since) < answersSoon {
		return powerAsked(w, how.format)
	}
	return how.sentence(w)
}

func powerAsked(w *node.Wait, format func(time.Time) string) string {
	return fmt.Sprintf("%s asked at %s", w.Subject, format(w.Since))
}

// WaitSentence says what a running step waits for, in clauses without a full stop. format is how times are written: a text
// that is read later needs dates.
func WaitSentence(w *node.Wait, a *node.Agent, format func(time.Time) string) string {
	return telling{agent: a, format: format}.sentence(w)
}

func (how telling) sentence(w *node.Wait) string {
	a, format := how.agent, how.format
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return format(*t)
	}
	var parts []string
	add := func(pattern string, args ...any) { parts = append(parts, fmt.Sprintf(pattern, args...)) }
	switch w.For {
	case node.WaitPower:
		parts = append(parts, powerAsked(w, format))
		switch {
		case w.Unanswered && how.left: // who sent it may have got an answer and died before that was recorded
			add("no answer to that request is recorded")
		case w.Unanswered:
			add("the BMC has not answered that request")
		}
		says := "still says "
		if w.Power == node.PowerState(w.Subject) { // somebody else has seen it
			says = "says "
		}
		parts = append(parts, looked(w, "the BMC", says+w.Seen, "said "+w.Seen, at)...)
	case node.WaitMedium:
		add("%s asked for at %s", orWords(w.Subject, "virtual medium ", "a virtual medium"), format(w.Since))
		parts = append(parts, looked(w, "the BMC", "shows "+w.Seen, "showed "+w.Seen, at)...)
	case node.WaitCall:
		inserted := ""
		if w.Subject != "" {
			inserted = "medium " + w.Subject + " inserted, "
		}
		add("%spower on at %s", inserted, format(w.Since))
		if a != AgentNotRead {
			parts = append(parts, called(a, at))
		}
	case node.WaitCommand:
		sent := "sent"
		if w.Subject != "" {
			sent = w.Subject + " was sent"
		}
		add("%s to the agent at %s", sent, format(w.Since))
		parts = append(parts, looked(w, "the agent", done(w, at), wasDone(w), at)...)
		switch {
		case w.Unread != "" && a != nil && a.LastHeartbeatAt != nil:
			add("it called last at %s", at(a.LastHeartbeatAt))
		case w.Unread == "" && w.Until == nil && (w.Fraction == nil && w.Seen != "" || w.Slow || w.StandsStill()):
			add("it has no time limit as long as the agent answers")
		}
		if end := w.EndsAt(); end != nil && w.Unread == "" {
			add("ends about %s", format(*end))
		}
	case node.WaitHeartbeat:
		add("the next call of the agent has been awaited since %s", format(w.Since))
	case node.WaitAgent:
		parts = append(parts, agentAnswers(w, a, format, at)...)
	case node.WaitAnswer:
		add("%s", answers(w, at))
	case node.WaitRequest:
		add("the BMC may still carry out an earlier request (%s)", w.Subject)
	case node.WaitTime:
		add("a pause since %s", format(w.Since))
	}
	if w.Took > 0 && w.For != node.WaitAnswer {
		add("it answers slowly%s", text.Because(slowness(w)))
	}
	switch {
	case how.looks != "":
		parts = append(parts, how.looks)
	case w.Every > 0:
		add("looked at again every %s", text.Duration(w.Every))
	}
	if w.Until != nil && !how.left {
		parts = append(parts, endOfWait(w, format))
	}
	return strings.Join(parts, "; ")
}

// endOfWait says when w, which has an end, ends. A request that is under way then is awaited.
func endOfWait(w *node.Wait, format func(time.Time) string) string {
	end := format(*w.Ends())
	if !w.Ends().Equal(*w.Until) || w.For == node.WaitCommand || w.For == node.WaitAgent { // an attempt may end sooner than its request may take
		end += " at the latest"
	}
	switch {
	case w.Again && w.Attempts > 0:
		return fmt.Sprintf("attempt %d of %d ends at %s, then it is tried again", w.Attempt, w.Attempts, end)
	case w.Again:
		return fmt.Sprintf("this attempt ends at %s, then it is tried again", end)
	case w.For == node.WaitTime, w.For == node.WaitRequest:
		return "ends at " + end
	}
	return "gives up at " + end
}

func orWords(s, before, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return before + s
}

// looked says what whom shows (seen) or, if it does not answer any more, what it has shown (last) and since when it is silent.
func looked(w *node.Wait, whom, seen, last string, at func(*time.Time) string) []string {
	var out []string
	if w.Seen != "" && w.Unread == "" {
		return []string{whom + " " + seen}
	}
	if w.Seen != "" {
		out = append(out, "at "+at(w.SeenAt)+" "+whom+" "+last)
	}
	if w.Unread != "" {
		return append(out, fmt.Sprintf("%s has not answered since %s (%s)", whom, at(w.UnreadSince), text.Clause(w.Unread)))
	}
	return out
}

// answers says how a BMC answers that is slow or silent.
func answers(w *node.Wait, at func(*time.Time) string) string {
	switch {
	case w.Unread != "":
		return fmt.Sprintf("the BMC has not answered since %s%s", at(w.UnreadSince), text.Because(text.Clause(w.Unread)))
	case w.Took > 0:
		return "the BMC answers slowly" + text.Because(slowness(w))
	}
	return "the BMC was asked at " + at(&w.Since)
}

// agentAnswers says that an agent has been asked something, or since when it gives no answer. a may have called since w began.
func agentAnswers(w *node.Wait, a *node.Agent, format func(time.Time) string, at func(*time.Time) string) (out []string) {
	who := "the agent at " + w.Subject
	if stillCalls(w, a) {
		return []string{who + " has not answered since " + format(w.Since) + text.Because(text.Clause(w.Unread)), "it still calls, last at " + at(a.LastHeartbeatAt)}
	}
	if w.SeenAt != nil {
		who += " called at " + at(w.SeenAt) + " and"
	}
	if w.Unread == "" {
		return []string{who + " was asked at " + format(w.Since) + ", and has not answered yet"}
	}
	return []string{who + " has not answered since " + format(w.Since) + text.Because(text.Clause(w.Unread))}
}

// stillCalls reports whether a has called since it gave w no answer for the first time.
func stillCalls(w *node.Wait, a *node.Agent) bool {
	return w != nil && w.Unread != "" && w.UnreadSince != nil && a != nil && a.LastHeartbeatAt != nil && a.LastHeartbeatAt.After(*w.UnreadSince)
}

// slowness says how slowly a BMC answers.
func slowness(w *node.Wait) string {
	return fmt.Sprintf("its last answer took %s; it has up to %s for the next one", text.Duration(w.Took.Round(100*time.Millisecond)), text.Duration(w.Within.Round(100*time.Millisecond)))
}

// done says how much of a command is done.
func done(w *node.Wait, at func(*time.Time) string) string {
	if w.Fraction == nil {
		return "says " + w.Seen + " and does not tell how much is done"
	}
	words := fmt.Sprintf("has done %.0f %%", *w.Fraction*100)
	switch {
	case w.StandsStill():
		words += ", and no more since " + at(w.AdvancedAt)
	case w.Rate > 0:
		words += ", " + text.Size(w.Rate) + "/s"
	}
	return words
}

// wasDone is done at a look that is over.
func wasDone(w *node.Wait) string {
	if w.Fraction == nil {
		return "said " + w.Seen
	}
	return fmt.Sprintf("had done %.0f %%", *w.Fraction*100)
}

// called says whether the agent of this boot has called.
func called(a *node.Agent, at func(*time.Time) string) string {
	if seen := seenOfAgent(a); seen != nil {
		return "at " + at(seen.At) + " its agent " + seen.What
	}
	return "its agent has not called since"
}

// seenOfAgent is the last that the agent of this boot has done, nil if nothing.
func seenOfAgent(a *node.Agent) *Seen {
	switch {
	case a == nil:
	case a.LastHeartbeatAt != nil:
		return &Seen{What: "called", At: a.LastHeartbeatAt}
	case a.InspectedAt != nil:
		return &Seen{What: "sent its inventory", At: a.InspectedAt}
	case a.LookedUpAt != nil:
		return &Seen{What: "looked itself up, and has not called since", At: a.LookedUpAt}
	}
	return nil
}
