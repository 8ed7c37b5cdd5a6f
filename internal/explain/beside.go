package explain

import (
	"fmt"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// waitOf is what the running step of o waits for, with what others than its conductor have learned of the BMC of n since; n = nil: its
// node was not read.
func waitOf(o *node.Operation, n *node.Node) *node.Wait {
	live := o.LiveWait()
	if n == nil || !live.AsksBMC() {
		return live
	}
	w := *live
	if since := silentSince(n, o); w.Unread != "" && since != nil {
		w.UnreadSince = since
		if w.For == node.WaitAnswer {
			w.Since = *since
		}
	}
	if w.For == node.WaitPower && n.PowerState != "" && newer(n.PowerReadAt, w.SeenAt) && n.PowerReadAt.After(w.Since) {
		if w.Power != n.PowerState {
			w.Seen, w.Power = bmcWords[n.PowerState], n.PowerState
		}
		w.SeenAt = n.PowerReadAt
		if w.UnreadSince != nil && n.PowerReadAt.After(*w.UnreadSince) {
			w.Unread, w.UnreadSince, w.MissedAt = "", nil, nil
		}
	}
	return &w
}

// bmcWords are the words of BMCs for power states.
var bmcWords = map[node.PowerState]string{node.PowerOn: "On", node.PowerOff: "Off"}

// silentSince returns since when the BMC of n gives no answer, nil if it is not known to be silent. One silence has one beginning,
// whoever noticed it first: the step of o, or whoever has recorded it.
func silentSince(n *node.Node, o *node.Operation) *time.Time {
	s := n.SilentBMC()
	if s == nil {
		return nil
	}
	if o != nil {
		if w := o.LiveWait(); w.AsksBMC() && w.Unread != "" && w.UnreadSince != nil && w.UnreadSince.Before(s.Since) {
			return w.UnreadSince
		}
	}
	return &s.Since
}

// offMeanwhile says of a server whose agent is to call that it was found off since it was booted; "" if it was not.
func offMeanwhile(w *node.Wait, n *node.Node, format func(time.Time) string) string {
	if w.For != node.WaitCall || n == nil || n.PowerState != node.PowerOff || n.PowerReadAt == nil || !n.PowerReadAt.After(w.Since) {
		return ""
	}
	return fmt.Sprintf("at %s the BMC said %s", format(*n.PowerReadAt), bmcWords[n.PowerState])
}

const (
	// looksSoon is how much later than promised a look may be recorded: it is written every 5 s, and takes a moment itself.
	looksSoon = 90 * time.Second
	// looksSoonAway is the same if a part of Temper is away without which nothing goes on.
	looksSoonAway = 15 * time.Second
)

// whoLooks says, if nobody looks at what the step of o waits for as often as was promised, that nobody does and who has to; "" if
// somebody looks, as far as is known, or nobody has to. left says that nobody attends to the step at all.
func (b Beside) whoLooks(o *node.Operation, w *node.Wait, now time.Time) (words string, left bool) {
	if o.Conductor != "" && !alive(b.Fleet, o.Conductor) {
		if w.Every == 0 && w.For != node.WaitAnswer {
			return "", false
		}
		return fmt.Sprintf("nobody looks now, because %s is not alive: the conductor that takes the step over has to", node.ConductorWords(o.Conductor)), true
	}
	if w.Every == 0 {
		return "", false
	}
	last, soon := lookDue(w, looksSoon)
	c := conductor(b.Fleet, o.Conductor)
	late := c != nil && c.Late // it may have died
	if b.away != "" || late {
		last, soon = lookDue(w, looksSoonAway)
	}
	switch {
	case now.Sub(last) <= soon && late:
		return fmt.Sprintf("looked at again every %s if %s is still alive, whose last heartbeat was at %s", text.Duration(w.Every), node.ConductorWords(o.Conductor), text.Clock(c.HeartbeatAt, now)), false
	case now.Sub(last) <= soon:
		return "", false
	case b.away != "":
		return fmt.Sprintf("nobody has looked since %s: a conductor has to, and %s", text.Clock(last, now), b.away), false
	case o.Conductor == "":
		return fmt.Sprintf("nobody has looked since %s: a conductor has to", text.Clock(last, now)), false
	}
	return fmt.Sprintf("nobody has looked since %s: %s has to, or another one that takes the step over", text.Clock(last, now), node.ConductorWords(o.Conductor)), false
}

// lookDue returns when somebody looked last at what w waits for, and within which time after that the next look is recorded. A look may
// be recorded later than promised, by late.
func lookDue(w *node.Wait, late time.Duration) (last time.Time, within time.Duration) {
	within = w.Every + w.Within + late
	if w.AnswerUntil != nil && w.Until != nil {
		within += w.AnswerUntil.Sub(*w.Until)
	}
	if at := w.LookedAt(); at != nil && !at.Before(w.Since) {
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
