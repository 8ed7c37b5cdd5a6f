package explain

import (
	"time"

	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
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
	if w.For == node.WaitPower && n.PowerState != "" && finding.Newer(n.PowerReadAt, w.SeenAt) && n.PowerReadAt.After(w.Since) {
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
