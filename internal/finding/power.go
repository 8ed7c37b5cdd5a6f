package finding

import (
	"strings"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// PowerView is the power of a node: the state that somebody wants, the one that was seen, and when. They are three things;
// a state that is not known is neither on nor off.
type PowerView struct {
	Wanted node.PowerState // "" = nobody wants a change
	Seen   node.PowerState // "" = not known
	SeenAt *time.Time      // when Seen was read or, if it is not known now, when it was read last; nil = never
	Text   string          // the three in words
	Short  string          // the same for a column of a table
}

// Power returns the power of n.
func Power(n *node.Node, now time.Time) PowerView {
	v := PowerView{Seen: n.PowerState, SeenAt: n.PowerReadAt}
	if n.TargetPowerState != "" {
		v.Wanted = node.PowerAfter(n.TargetPowerState)
	}
	if o := n.Operation; o != nil {
		if w := o.LiveWait(); w != nil && w.For == node.WaitPower {
			v.Wanted = node.PowerState(w.Subject)
			if Newer(w.SeenAt, v.SeenAt) && w.Power != "" {
				v.Seen, v.SeenAt = w.Power, w.SeenAt
			}
		} else if w != nil && w.For == node.WaitCall && Newer(&w.Since, v.SeenAt) { // the server was seen on then
			v.Seen, v.SeenAt = node.PowerOn, &w.Since
		}
	}
	v.Text, v.Short = v.words(now), v.short(now)
	return v
}

// Newer reports whether a is a time after b, or b is none.
func Newer(a, b *time.Time) bool { return a != nil && (b == nil || a.After(*b)) }

func (v PowerView) words(now time.Time) string {
	words := string(v.Seen)
	switch {
	case v.Seen == "" && v.SeenAt == nil:
		words = "unknown, never read"
	case v.Seen == "":
		words = "unknown, last read " + text.Age(now.Sub(*v.SeenAt)) + " ago"
	case v.SeenAt == nil:
		words += ", age unknown"
	default:
		words += ", read " + text.Age(now.Sub(*v.SeenAt)) + " ago"
	}
	if v.Wanted != "" && v.Wanted != v.Seen {
		words += "; wanted: " + string(v.Wanted)
	}
	return words
}

func (v PowerView) short(now time.Time) string {
	words := bare(v.Seen)
	switch {
	case v.Seen == "":
		words = "unknown"
	case v.SeenAt != nil:
		words += " " + text.Age(now.Sub(*v.SeenAt))
	}
	if v.Wanted != "" && v.Wanted != v.Seen {
		words += ", wanted " + bare(v.Wanted)
	}
	return words
}

// bare returns a power state without the word power.
func bare(p node.PowerState) string { return strings.TrimPrefix(string(p), "power ") }
