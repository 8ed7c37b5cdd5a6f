package explain

import (
	"cmp"
	"time"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/text"
)

// StepWait is what a running step waits for.
type StepWait struct {
	For      node.WaitFor
	Subject  string // of For; "" = nothing
	Findings []finding.Finding
	Sentence string // the findings in words, without a full stop
	Since    *time.Time
	Until    *time.Time // when the step gives up; nil = it does not
	Seen     *Seen      // nil = no look was answered
	Fraction *float64   // from 0 to 1; nil = not known
	Rate     *float64   // bytes a second; nil = not known
	EndsAt   *time.Time // at this speed; nil = not known
}

// Seen is what was seen last, and when.
type Seen struct {
	What string
	At   *time.Time
}

// Beside is what is known beside an operation, so that what is said of its step is true.
type Beside struct {
	Node  *node.Node           // of the operation; nil = it was not read, so that nothing is said about the calls of its agent
	Fleet []coverage.Conductor // all conductors, alive or not
	// System is the parts of Temper; the zero value = nothing is known to be broken.
	System status.System
}

// answersSoon is how long an answer to a request may take before its absence is a finding.
const answersSoon = 5 * time.Second

// Wait explains what the running step of o waits for, nil if nothing is known.
func Wait(o *node.Operation, b Beside, now time.Time) *StepWait {
	w := waitOf(o, b.Node)
	if w == nil {
		return nil
	}
	away, agent := b.System.AwayBriefly(), finding.AgentNotRead
	if b.Node != nil {
		agent = b.Node.Agent
	}
	bare := *w
	if step := o.CurrentStep(); step != nil && step.Name() == w.Subject {
		bare.Subject = "" // the step is named with the sentence
	}
	out := &StepWait{For: w.For, Subject: w.Subject, Since: &w.Since, Until: w.Ends(), Fraction: w.Fraction, EndsAt: w.EndsAt()}
	watch := b.watch(o, w, away, now)
	if w.For == node.WaitPower && w.Unanswered && w.Until == nil && now.Sub(w.Since) < answersSoon {
		out.Findings = []finding.Finding{finding.Asked(w)}
	} else {
		out.Findings = finding.Wait(&bare, agent, watch)
	}
	out.Findings = append(out.Findings, bootSigns(w, b.Node)...)
	if n := b.Node; w.For == node.WaitCall && n != nil && n.PowerState == node.PowerOff && n.PowerReadAt != nil && n.PowerReadAt.After(w.Since) {
		out.Findings = append(out.Findings, finding.Of(finding.OffMeanwhile, finding.Params{"at": n.PowerReadAt, "power": bmcWords[n.PowerState]}))
	}
	if f := attempts(o); f != nil {
		out.Findings = append(out.Findings, *f)
	}
	out.Sentence = finding.All(out.Findings, finding.Reader{Now: now})
	if w.Until != nil && !watch.Left {
		out.Sentence += text.Because(finding.Overdue(*w.Ends(), w.AnswerUntil, now, away))
	}
	if w.Seen != "" {
		out.Seen = &Seen{What: w.Seen, At: w.SeenAt}
	}
	if w.For == node.WaitCall {
		out.Seen = nil
		if what, at := finding.SeenOfAgent(agent); at != nil {
			out.Seen = &Seen{What: what, At: at}
		}
	}
	if w.Rate > 0 && !w.StandsStill() {
		rate := w.Rate
		out.Rate = &rate
	}
	return out
}

// bootSigns finds what was seen of a server that boots from a CD which Temper makes, and what comes of a boot without signs.
func bootSigns(w *node.Wait, n *node.Node) []finding.Finding {
	if w.For != node.WaitCall || w.LookAt == nil || n == nil {
		return nil
	}
	out := []finding.Finding{finding.Of(finding.MediumUnread, nil)}
	if r := n.MediumRead; r != nil {
		out[0] = finding.Of(finding.MediumRead, finding.Params{"read": r.Words(), "at": r.At})
	}
	return append(out, finding.Of(finding.BootLookedAt, finding.Params{"at": w.LookAt}))
}

// attempts finds how many attempts at the current step of o have failed because its agent is silent, and what happens after the last
// one; nil if the step does not wait for a silent agent.
func attempts(o *node.Operation) *finding.Finding {
	w, step := o.LiveWait(), o.CurrentStep()
	if w == nil || w.Unread == "" || w.For != node.WaitCommand && w.For != node.WaitAgent || step == nil || step.Limit == 0 {
		return nil
	}
	code, p := finding.AttemptsFailed, finding.Params{"failures": step.Failures, "limit": step.Limit, "then": "the step fails"}
	switch {
	case w.For != node.WaitCommand:
	case w.Unanswered && step.Failures == 0 && w.UnreadSince != nil:
		code, p["at"] = finding.FirstAttempt, w.UnreadSince.Add(node.StallLimit)
	case !w.Unanswered && step.MayBeginAnew():
		p["then"] = "the agent is booted again, and the step begins anew"
	}
	f := finding.Of(code, p)
	return &f
}

const (
	// looksSoon is how much later than promised a look may be recorded: it is written every 5 s, and takes a moment itself.
	looksSoon = 90 * time.Second
	// looksSoonAway is the same if a part of Temper is away without which nothing goes on.
	looksSoonAway = 15 * time.Second
)

// watch finds out, if no conductor looks at what the step of o waits for as often as was promised, which one has to.
func (b Beside) watch(o *node.Operation, w *node.Wait, away string, now time.Time) (out finding.Watch) {
	p := finding.Params{"away": away}
	if o.Conductor != "" {
		p["conductor"] = node.ConductorWords(o.Conductor)
	}
	instead := func(code finding.Code) finding.Watch {
		f := finding.Of(code, p)
		return finding.Watch{Instead: &f, Left: code == finding.NoConductorFor}
	}
	if o.Conductor != "" && !alive(b.Fleet, o.Conductor) && (w.Every > 0 || w.For == node.WaitAnswer) {
		return instead(finding.NoConductorFor)
	}
	if w.Every == 0 {
		return out
	}
	last, soon := lookDue(w, looksSoon)
	c := conductor(b.Fleet, o.Conductor)
	late := c != nil && c.Late // it may have died
	if away != "" || late {
		last, soon = lookDue(w, looksSoonAway)
	}
	switch {
	case now.Sub(last) > soon:
		p["at"] = last
		return instead(finding.NotLooked)
	case late:
		p["every"], p["at"] = w.Every, c.HeartbeatAt
		return instead(finding.LookedAgainIf)
	}
	return out
}

// lookDue returns when a conductor looked last at what w waits for, and within which time after that the next look is recorded. A look
// may be recorded later than promised, by late.
func lookDue(w *node.Wait, late time.Duration) (last time.Time, within time.Duration) {
	within = w.Every + w.Within + late
	if w.AnswerUntil != nil && w.Until != nil {
		within += w.AnswerUntil.Sub(*w.Until)
	}
	if at := cmp.Or(w.LookedAt(), &w.Since); !at.Before(w.Since) {
		return *at, within
	}
	return w.Since, within
}

// Unwatched reports whether the running step of o was not looked at for so long that somebody has to ask whether a part of Temper is
// away.
func Unwatched(o *node.Operation, now time.Time) bool {
	w := o.LiveWait()
	if w == nil || w.Every == 0 {
		return false
	}
	last, within := lookDue(w, looksSoonAway)
	return now.Sub(last) > within
}
