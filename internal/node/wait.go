package node

import (
	"math"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Wait is what the running step of an operation waits for: what was asked of the hardware or of the agent, what was
// seen last, and when the step gives up. It contains no secrets. Times are those of the conductor that runs the step.
type Wait struct {
	For     WaitFor   `json:"for"`
	Subject string    `json:"subject,omitempty"` // of For: a power state, the name of a medium, the step that the agent runs
	Since   time.Time `json:"since"`             // when it was asked
	// Until is when the step gives up or, if Again is true, when this attempt at it ends; nil = never, as long as there are answers.
	Until *time.Time    `json:"until,omitempty"`
	Every time.Duration `json:"every,omitempty"` // the longest pause between two looks; 0 = nobody looks, somebody calls
	// LookAt is when a conductor looks whether the server still boots, unless its agent has called before; nil = never.
	LookAt *time.Time `json:"look_at,omitempty"`
	// AnswerUntil is until when the BMC's answer to a look that begins right before Until is awaited; nil = nobody waits longer than Until.
	AnswerUntil *time.Time `json:"answer_until,omitempty"`

	Again    bool `json:"again,omitempty"`    // the step is tried again after Until
	Attempt  int  `json:"attempt,omitempty"`  // which attempt ends at Until, from 1 on; 0 = they are not counted
	Attempts int  `json:"attempts,omitempty"` // with how many failed ones the step has failed; 0 = they are not counted

	// Seen is what the last look has shown, in the words of who was asked; "" = no look was answered yet.
	Seen   string     `json:"seen,omitempty"`
	SeenAt *time.Time `json:"seen_at,omitempty"`
	Power  PowerState `json:"power,omitempty"` // what Seen means as power state; "" = nothing
	// Unread is why all looks since UnreadSince have failed; "" = the last one was answered.
	Unread      string     `json:"unread,omitempty"`
	UnreadSince *time.Time `json:"unread_since,omitempty"`
	MissedAt    *time.Time `json:"missed_at,omitempty"` // when the last look has failed

	// Took is how long the BMC took for its last answer, and Within how long its answers are awaited; 0 = it answers quickly.
	// Of an agent only Within is known.
	Took   time.Duration `json:"took,omitempty"`
	Within time.Duration `json:"within,omitempty"`
	// Unanswered says that the BMC has not answered the request itself, or not yet. Perhaps it carries it out all the same. It is
	// false if nobody knows, because who sent the request was interrupted. Of an agent it says that it answers other requests, but
	// not the one that sends the command, so that the step does not begin anew.
	Unanswered bool `json:"unanswered,omitempty"`

	// Fraction is how much is done, from 0 to 1; nil = whoever does it does not tell.
	Fraction *float64 `json:"fraction,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"` // that are done; 0 = not told
	Speed    float64  `json:"speed,omitempty"` // in fractions a second, smoothed over some looks; 0 = not known
	Rate     float64  `json:"rate,omitempty"`  // the same in bytes a second
	// AdvancedAt is when a look has shown for the last time that more was done; nil = it is not told how much is.
	AdvancedAt *time.Time `json:"advanced_at,omitempty"`

	// LateAt is from when on it takes unusually long, unless more is done until then (Pace); nil = not known.
	LateAt    *time.Time `json:"late_at,omitempty"`
	Slow      bool       `json:"slow,omitempty"`       // LateAt follows from its pace, not from a standstill
	LateCause fault.Code `json:"late_cause,omitempty"` // of being late; "" = not known
}

// WaitFor is what a running step waits for.
type WaitFor string

// What running steps wait for. Package explain has the words.
const (
	WaitPower     WaitFor = "power"           // the BMC is to show a power state: Subject
	WaitMedium    WaitFor = "medium"          // the BMC is to show a virtual medium: Subject
	WaitCall      WaitFor = "agent_call"      // the agent that was booted from the medium Subject is to call
	WaitCommand   WaitFor = "agent_command"   // the agent is to end its command, the step Subject
	WaitHeartbeat WaitFor = "agent_heartbeat" // any agent of the node is to call once more
	WaitAgent     WaitFor = "agent_answer"    // the agent at the address Subject is to answer a request
	WaitTime      WaitFor = "time"            // Until is to come
	WaitAnswer    WaitFor = "bmc_answer"      // the BMC is to answer, whatever it was asked: it is slow, or silent since Since
	WaitBuild     WaitFor = "medium_made"     // the API is to make the medium Subject of a kernel and a ramdisk that it fetches
	WaitBIOS      WaitFor = "bios_settings"   // the BMC is to show the BIOS settings Subject as they were asked for
	WaitFirmware  WaitFor = "firmware_update" // the BMC is to end the update of the component Subject, and to show another version
	WaitImage     WaitFor = "image_fetched"   // temper boot is to fetch the image that it serves to the agent
	WaitRequest   WaitFor = "bmc_request"     // a request to the BMC that was sent before, Subject, may take effect until Until
)

// Same reports whether both are about the same request, so that what was seen of one is true of the other.
func (w *Wait) Same(other *Wait) bool {
	return w != nil && other != nil && w.For == other.For && w.Subject == other.Subject && w.Since.Equal(other.Since)
}

// Saw notes what a look at has shown.
func (w *Wait) Saw(seen string, at time.Time) {
	w.Seen, w.SeenAt, w.Unread, w.UnreadSince, w.MissedAt = seen, &at, "", nil, nil
	if w.LateCause == fault.AgentSilent { // it was late because of that
		w.LateAt, w.LateCause = nil, ""
	}
}

// Missed notes that a look at has failed, and why.
func (w *Wait) Missed(why string, at time.Time) {
	w.MissedAt = &at
	if w.Unread = why; w.UnreadSince == nil {
		w.UnreadSince = &at
	}
	if w.For == WaitAgent || w.For == WaitCommand {
		late := w.UnreadSince.Add(StallLimit)
		w.LateAt, w.LateCause = &late, fault.AgentSilent
	}
}

// Answered notes that a BMC has answered a request, how long it took, and how long its answers are awaited from now on. Both are
// 0 of a BMC that answers quickly.
func (w *Wait) Answered(took, within time.Duration, at time.Time) {
	w.Took, w.Within = took, within
	if w.For == WaitAnswer {
		w.Saw("answers", at)
		w.Until, w.LateAt, w.LateCause = nil, nil, ""
	}
}

// SilentWait is the wait for a BMC that has given no answer since then, why the last try failed, and when its step gives up.
func SilentWait(since time.Time, why string, until time.Time) Wait {
	late := since.Add(StallLimit)
	return Wait{For: WaitAnswer, Since: since, Until: &until, Unread: why, UnreadSince: &since, LateAt: &late, LateCause: fault.BMCSilent}
}

// LookDue reports whether a conductor has to look now whether the server, whose agent o waits for, still boots.
func (o *Operation) LookDue(now time.Time) bool {
	w := o.LiveWait()
	return w != nil && w.LookAt != nil && !now.Before(*w.LookAt)
}

// Silent reports whether w is for a BMC that gives no answer.
func (w *Wait) Silent() bool { return w.silence() == fault.BMCSilent }

// silence returns fault.BMCSilent or fault.AgentSilent if that gave no answer when it was asked last; "" if w does not wait for an
// answer, or there was one.
func (w *Wait) silence() fault.Code {
	if w == nil || w.Unread == "" {
		return ""
	}
	switch w.For {
	case WaitAnswer:
		return fault.BMCSilent
	case WaitAgent, WaitCommand:
		return fault.AgentSilent
	}
	return ""
}

// newLook is the weight of the newest look in a speed: each one is measured over a few seconds only.
const newLook = 0.3

// LookedAt returns when somebody looked last, answered or not; nil = nobody has looked yet.
func (w *Wait) LookedAt() *time.Time {
	if w.MissedAt != nil {
		return w.MissedAt
	}
	return w.SeenAt
}

// Ends is Until or, if the answer to a last request may be awaited longer, until when that is; nil = it does not end. The time for a
// BMC that is silent stays as it was told first.
func (w *Wait) Ends() *time.Time {
	if w.For != WaitAnswer && w.Until != nil && w.AnswerUntil != nil && w.AnswerUntil.After(*w.Until) {
		return w.AnswerUntil
	}
	return w.Until
}

// AsksBMC reports whether w is for something that the BMC is asked about.
func (w *Wait) AsksBMC() bool {
	return w != nil && (w.For == WaitAnswer || w.For == WaitPower || w.For == WaitMedium || w.For == WaitBIOS || w.For == WaitFirmware)
}

// Advance notes how much is done at a look: a fraction from 0 to 1 and, if it is known, bytes. It is called before Saw.
func (w *Wait) Advance(fraction float64, bytes int64, at time.Time) {
	if math.IsNaN(fraction) {
		return
	}
	fraction = min(max(fraction, 0), 1)
	was, then := w.Fraction, w.SeenAt
	if was == nil { // at the beginning nothing was done
		was, then = new(float64), &w.Since
	}
	since := 0.0
	if then != nil {
		since = at.Sub(*then).Seconds()
	}
	switch {
	case fraction < *was || bytes < w.Bytes: // it has begun anew
		w.Speed, w.Rate = 0, 0
	case since > 0:
		w.Speed = smooth(w.Speed, (fraction-*was)/since)
		w.Rate = smooth(w.Rate, float64(bytes-w.Bytes)/since)
	}
	if w.AdvancedAt == nil || fraction != *was || bytes != w.Bytes {
		w.AdvancedAt = &at
	}
	w.Fraction, w.Bytes = &fraction, bytes
}

func smooth(before, now float64) float64 {
	if before == 0 {
		return now
	}
	return before*(1-newLook) + now*newLook
}

// longestEnd is how far ahead an end is told: what has nearly stopped ends at no time that anybody could plan with.
const longestEnd = 7 * 24 * time.Hour

// stillAfter is how long looks have to show nothing new until a speed is told no more: smoothed, it falls to zero only slowly.
const stillAfter = 30 * time.Second

// StillCalls reports whether a has called since it gave w no answer for the first time. Neither has to be there.
func (w *Wait) StillCalls(a *Agent) bool {
	return w != nil && w.Unread != "" && w.UnreadSince != nil && a != nil && a.LastHeartbeatAt != nil && a.LastHeartbeatAt.After(*w.UnreadSince)
}

// StandsStill reports whether the last look has shown no more than those of a while before it, so that no speed is true.
func (w *Wait) StandsStill() bool {
	return w.AdvancedAt != nil && w.SeenAt != nil && w.SeenAt.Sub(*w.AdvancedAt) >= stillAfter
}

// EndsAt is when it ends if it goes on at the same speed; nil = not known.
func (w *Wait) EndsAt() *time.Time {
	if w.Fraction == nil || w.SeenAt == nil || w.Speed <= 0 || w.StandsStill() {
		return nil
	}
	left := (1 - *w.Fraction) / w.Speed
	if left > longestEnd.Seconds() {
		return nil
	}
	at := w.SeenAt.Add(time.Duration(left * float64(time.Second)))
	return &at
}

// LiveWait returns what the running step of o waits for, nil if it does not run or nobody has told it.
func (o *Operation) LiveWait() *Wait {
	switch step := o.CurrentStep(); {
	case o.StepWait == nil, o.Blocked != NotBlocked, o.TemporalPause != nil:
		return nil
	case o.Phase == Undoing:
		return o.StepWait
	case o.Phase != Running && o.Phase != Waiting:
		return nil
	case o.Phase == Waiting && o.Asked.Ends(): // nobody is at work, and what was waited for matters no more
		return nil
	case step == nil || step.State != StepRunning && step.State != StepWaiting:
		return nil
	}
	return o.StepWait
}
