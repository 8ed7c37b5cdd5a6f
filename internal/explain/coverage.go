package explain

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// maxNamed bounds how many conductors and groups are named.
const maxNamed = 5

// coverage says why no conductor can work on the node, if none can.
func (e *Explanation) coverage(n *node.Node, f Facts) {
	lost := ""
	if q := n.Quarantine; q != nil && !q.Since.IsZero() {
		lost = text.Since(&q.Since, f.Now)
	}
	if f.Covered {
		if n.Quarantine != nil {
			e.Trouble = append(e.Trouble, fmt.Sprintf("It is in quarantine%s, offered to nobody: its conductors come and go, and it is released by itself when they have stayed for %s", lost, node.FlapHold))
		}
		return
	}
	uncovered := fmt.Sprintf("No live conductor covers it%s: none with driver %s in %s has its interfaces and takes work. "+
		"It is offered to nobody, new work on it is refused, and it is released by itself when one is back", lost, n.Driver, node.GroupWords(n.ConductorGroup))
	var known []string
	for _, c := range f.Fleet {
		if c.Group == n.ConductorGroup && len(known) < maxNamed {
			known = append(known, fmt.Sprintf("%s, %s, last heartbeat %s ago", c.Hostname, c.State(), text.Ago(f.Now, c.HeartbeatAt)))
		}
	}
	if len(known) == 0 {
		known = []string{"none"}
	}
	e.Trouble = append(e.Trouble, uncovered, "Known conductors of the group: "+strings.Join(known, "; "))
}

// canCover adds what finds a conductor for the node, if none covers it.
func (e *Explanation) canCover(n *node.Node, f Facts) {
	if f.Covered {
		return
	}
	e.can(Action{Do: ListConductors})
	if o := n.Operation; o == nil || !alive(f.Fleet, o.Conductor) {
		for _, g := range otherGroups(n, f.Fleet) {
			e.can(Action{Do: ChangeGroup, Group: g})
		}
	}
}

// otherGroups returns, sorted, at most maxNamed other groups with a conductor that could
// work on n.
func otherGroups(n *node.Node, fleet []coverage.Conductor) []string {
	var out []string
	for _, c := range fleet {
		if c.TakesWork() && c.Group != n.ConductorGroup && c.Covers(c.Group, n.Driver, n.Interfaces) && !slices.Contains(out, c.Group) {
			out = append(out, c.Group)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxNamed)]
}

func alive(fleet []coverage.Conductor, host string) bool {
	c := conductor(fleet, host)
	return c != nil && c.Alive
}

// conductor returns the conductor of that name; nil = it is not there.
func conductor(fleet []coverage.Conductor, host string) *coverage.Conductor {
	if i := slices.IndexFunc(fleet, func(c coverage.Conductor) bool { return c.Hostname == host }); i >= 0 && host != "" {
		return &fleet[i]
	}
	return nil
}
