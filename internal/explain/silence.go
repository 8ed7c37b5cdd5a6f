package explain

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// silence explains a BMC that gives no answer, to whoever asks it.
func (e *Explanation) silence(n *node.Node) {
	s := n.SilentBMC()
	if s == nil {
		return
	}
	who := fmt.Sprintf("%s asked it last, at %s", node.ConductorWords(s.AskedBy), text.Clock(s.AskedAt, e.now))
	c := conductor(e.fleet, s.AskedBy)
	asking := s.Asking && s.NextAt.After(e.now) && (c == nil || c.Alive)
	if asking {
		who = fmt.Sprintf("%s is asking it now, since %s", node.ConductorWords(s.AskedBy), text.Clock(s.AskedAt, e.now))
	}
	words := fmt.Sprintf("The BMC has given no answer since %s; %s", text.Clock(*silentSince(n, n.Operation), e.now), who)
	switch {
	case n.Operation != nil && n.Operation.LiveWait().Silent(): // its story says since when and why
		words = "The BMC is silent; " + who
	case e.Cause != fault.BMCSilent && !e.tells(finding.Clean(s.Seen)): // otherwise the error is told already
		words += text.Because(text.Clause(finding.Clean(s.Seen)))
	}
	switch {
	case asking:
	case s.NextAt.After(e.now):
		words += "; it is asked again about " + text.Clock(s.NextAt, e.now)
	default:
		words += "; it is due to be asked again"
	}
	e.Trouble = append(e.Trouble, words)
	if e.Cause == "" {
		e.Cause = fault.BMCSilent
	}
}

// tells reports whether one of the sentences about trouble contains words.
func (e *Explanation) tells(words string) bool {
	return slices.ContainsFunc(e.Trouble, func(s string) bool { return strings.Contains(s, words) })
}
