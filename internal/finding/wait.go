package finding

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// AgentNotRead stands for the agent of a node that was not read, so that its calls are no finding.
var AgentNotRead = &node.Agent{}

// Watch is who looks at what a step waits for.
type Watch struct {
	Instead *Finding // instead of when a conductor looks again; nil = one looks as often as it should
	Left    bool     // no conductor attends to the step, so that none gives up either
}

// Wait finds what w waits for. a is the agent of the node; nil = none has called since it was booted.
func Wait(w *node.Wait, a *node.Agent, watch Watch) []Finding {
	out := waited(w, a, watch.Left)
	if w.Took > 0 && w.For != node.WaitAnswer {
		out = append(out, Of(AnswersSlowly, Params{"took": slowness(w)}))
	}
	switch {
	case watch.Instead != nil:
		out = append(out, *watch.Instead)
	case w.Every > 0:
		out = append(out, Of(LookedAgain, Params{"every": w.Every}))
	}
	if w.Until != nil && !watch.Left {
		out = append(out, endOfWait(w))
	}
	return out
}

func waited(w *node.Wait, a *node.Agent, left bool) []Finding {
	switch w.For {
	case node.WaitPower:
		return ofPower(w, left)
	case node.WaitMedium:
		medium := "a virtual medium"
		if w.Subject != "" {
			medium = "virtual medium " + w.Subject
		}
		return append([]Finding{Of(MediumAsked, Params{"medium": medium, "at": w.Since})}, looked(w, "the BMC", "shows "+w.Seen, "showed "+w.Seen)...)
	case node.WaitCall:
		out := []Finding{Of(PoweredOn, Params{"medium": w.Subject, "at": w.Since})}
		if a != AgentNotRead {
			out = append(out, called(a))
		}
		return out
	case node.WaitCommand:
		return ofCommand(w, a)
	case node.WaitHeartbeat:
		return []Finding{Of(CallAwaited, Params{"at": w.Since})}
	case node.WaitAgent:
		return ofAgent(w, a)
	case node.WaitAnswer:
		return []Finding{ofAnswer(w)}
	case node.WaitBuild:
		return []Finding{Of(MediumMade, Params{"medium": w.Subject, "at": w.Since})}
	case node.WaitBIOS:
		return append([]Finding{Of(BIOSWritten, Params{"settings": w.Subject, "at": w.Since})}, looked(w, "the BMC", "shows "+w.Seen, "showed "+w.Seen)...)
	case node.WaitFirmware:
		return append([]Finding{Of(FirmwareSent, Params{"component": w.Subject, "at": w.Since})}, looked(w, "the BMC", "shows "+w.Seen, "showed "+w.Seen)...)
	case node.WaitImage:
		return append([]Finding{Of(ImageAwaited, Params{"at": w.Since})}, looked(w, "temper boot", "says that "+w.Seen, "said that "+w.Seen)...)
	case node.WaitRequest:
		return []Finding{Of(EarlierRequest, Params{"request": w.Subject})}
	case node.WaitTime:
		return []Finding{Of(PauseSince, Params{"at": w.Since})}
	}
	return nil
}

// Asked finds that a change of power was asked for.
func Asked(w *node.Wait) Finding { return Of(PowerAsked, Params{"power": w.Subject, "at": w.Since}) }

func ofPower(w *node.Wait, left bool) []Finding {
	out := []Finding{Asked(w)}
	switch {
	case w.Unanswered && left: // who sent it may have got an answer and died before that was recorded
		out = append(out, Of(PowerNotNoted, nil))
	case w.Unanswered:
		out = append(out, Of(PowerNoAnswer, nil))
	}
	says := "still says "
	if w.Power == node.PowerState(w.Subject) { // somebody else has seen it
		says = "says "
	}
	return append(out, looked(w, "the BMC", says+w.Seen, "said "+w.Seen)...)
}

func ofCommand(w *node.Wait, a *node.Agent) []Finding {
	out := []Finding{Of(CommandSent, Params{"command": w.Subject, "at": w.Since})}
	for _, f := range looked(w, "the agent", done(w), wasDone(w)) {
		if f.Code == Shows && w.Fraction != nil && w.StandsStill() {
			f.Parameters["still"] = *w.AdvancedAt
		}
		out = append(out, f)
	}
	switch {
	case w.Unread != "" && a != nil && a.LastHeartbeatAt != nil:
		out = append(out, Of(CalledLast, Params{"at": a.LastHeartbeatAt}))
	case w.Unread == "" && w.Until == nil && (w.Fraction == nil && w.Seen != "" || w.Slow || w.StandsStill()):
		out = append(out, Of(NoTimeLimit, nil))
	}
	if end := w.EndsAt(); end != nil && w.Unread == "" {
		out = append(out, Of(EndsAbout, Params{"at": end}))
	}
	return out
}

// ofAgent finds that an agent was asked something, or since when it gives no answer. a may have called since w began.
func ofAgent(w *node.Wait, a *node.Agent) []Finding {
	p := Params{"address": w.Subject, "at": w.Since, "error": text.Clause(w.Unread)}
	switch {
	case w.StillCalls(a):
		return []Finding{Of(AgentNoAnswer, p), Of(StillCalls, Params{"at": a.LastHeartbeatAt})}
	case w.SeenAt != nil:
		p["called"] = w.SeenAt
	}
	if w.Unread == "" {
		return []Finding{Of(AgentAsked, p)}
	}
	return []Finding{Of(AgentNoAnswer, p)}
}

// ofAnswer finds how a BMC answers that is slow or silent.
func ofAnswer(w *node.Wait) Finding {
	switch {
	case w.Unread != "":
		return Of(BMCNoAnswer, Params{"at": w.UnreadSince, "error": text.Clause(w.Unread)})
	case w.Took > 0:
		return Of(BMCSlow, Params{"took": slowness(w)})
	}
	return Of(BMCAsked, Params{"at": w.Since})
}

// looked finds what who shows (seen) or, if it does not answer any more, what it has shown (last) and since when it is silent.
func looked(w *node.Wait, who, seen, last string) (out []Finding) {
	if w.Seen != "" && w.Unread == "" {
		return []Finding{Of(Shows, Params{"who": who, "seen": seen})}
	}
	if w.Seen != "" {
		out = append(out, Of(HasShown, Params{"at": w.SeenAt, "who": who, "seen": last}))
	}
	if w.Unread != "" {
		out = append(out, Of(NoAnswerSince, Params{"who": who, "at": w.UnreadSince, "error": text.Clause(w.Unread)}))
	}
	return out
}

// endOfWait finds when w, which has an end, ends. It waits for the answer to a request that is under way then.
func endOfWait(w *node.Wait) Finding {
	p := Params{"at": w.Ends()}
	if !w.Ends().Equal(*w.Until) || w.For == node.WaitCommand || w.For == node.WaitAgent { // an attempt may end sooner than its request may take
		p["latest"] = "at the latest"
	}
	switch {
	case w.Again && w.Attempts > 0:
		p["attempt"], p["attempts"] = w.Attempt, w.Attempts
		return Of(AttemptEnds, p)
	case w.Again:
		return Of(ThisAttempt, p)
	case w.For == node.WaitTime, w.For == node.WaitRequest:
		return Of(WaitEnds, p)
	}
	return Of(GivesUp, p)
}

// slowness says how slowly a BMC answers.
func slowness(w *node.Wait) string {
	tenth := func(d time.Duration) string { return text.Duration(d.Round(100 * time.Millisecond)) }
	return fmt.Sprintf("its last answer took %s; it has up to %s for the next one", tenth(w.Took), tenth(w.Within))
}

// done says how much of a command is done.
func done(w *node.Wait) string {
	if w.Fraction == nil {
		return "says " + w.Seen + ", and not how much is done"
	}
	words := fmt.Sprintf("has done %.0f %%", *w.Fraction*100)
	if w.Rate > 0 && !w.StandsStill() {
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

// called finds whether the agent of this boot has called.
func called(a *node.Agent) Finding {
	if what, at := SeenOfAgent(a); at != nil {
		return Of(AgentHas, Params{"at": at, "did": what})
	}
	return Of(AgentHasNot, nil)
}

// SeenOfAgent returns the last that the agent of this boot has done, and when; nil if nothing.
func SeenOfAgent(a *node.Agent) (what string, at *time.Time) {
	switch {
	case a == nil:
	case a.LastHeartbeatAt != nil:
		return "called", a.LastHeartbeatAt
	case a.InspectedAt != nil:
		return "sent its inventory", a.InspectedAt
	case a.LookedUpAt != nil:
		return "looked itself up, and has not called since", a.LookedUpAt
	}
	return "", nil
}
