package access

import (
	"slices"

	"go.temper.dev/temper/internal/node"
)

// scope is what somebody has a role in, for a rule.
type scope int

const (
	system   scope = iota // the whole system
	owner                 // the project that owns what the request is about: a node, an allocation, a runbook
	lessee                // the project that leases the node
	anywhere              // any project, or the system
)

// who is somebody that a rule allows to do something.
type who struct {
	scope scope
	role  Role
}

// Rule says who may do something.
type Rule struct {
	Name string // Ironic's, or ours: temper:...
	Does string // what it allows, as a sentence
	who  []who
}

// table has all rules, in the order of their definition.
var table []*Rule

func define(name, does string, allowed ...[]who) *Rule {
	r := &Rule{Name: name, Does: does, who: slices.Concat(allowed...)}
	table = append(table, r)
	return r
}

// Allows reports whether the rule allows something to be done to a target.
func (r *Rule) Allows(id *Identity, t node.Owners) bool {
	return slices.ContainsFunc(r.who, func(w who) bool {
		switch w.scope {
		case owner:
			return t.Owner != "" && id.has(w.role, t.Owner)
		case lessee:
			return t.Lessee != "" && id.has(w.role, t.Lessee)
		default:
			return w.holds(id)
		}
	})
}

// AllowsAll reports whether the rule allows something to be done to every target.
func (r *Rule) AllowsAll(id *Identity) bool {
	return slices.ContainsFunc(r.who, func(w who) bool { return w.scope != owner && w.scope != lessee && w.holds(id) })
}

// AllowsSome reports whether there can be a target to which the rule allows something to be done.
func (r *Rule) AllowsSome(id *Identity) bool {
	return slices.ContainsFunc(r.who, func(w who) bool {
		return w.holds(id) || w.scope != system && slices.ContainsFunc(id.Grants, func(g Grant) bool { return g.Project != "" && g.includes(w.role) })
	})
}

// Projects are the projects for whose own things the rule allows something to be done.
func (r *Rule) Projects(id *Identity) (out []string) {
	for _, g := range id.Grants {
		mine := func(w who) bool { return w.scope != system && w.scope != lessee && g.includes(w.role) }
		if g.Project != "" && slices.ContainsFunc(r.who, mine) && !slices.Contains(out, g.Project) {
			out = append(out, g.Project)
		}
	}
	return out
}

// Targets reports whether the answer of the rule depends on what a request is about.
func (r *Rule) Targets() bool {
	return slices.ContainsFunc(r.who, func(w who) bool { return w.scope == owner || w.scope == lessee })
}

// Of is what of a list the rule shows; nil = all of it.
func (r *Rule) Of(id *Identity) *node.View {
	if r.AllowsAll(id) {
		return nil
	}
	v := &node.View{}
	for _, w := range r.who {
		for _, g := range id.Grants {
			switch {
			case g.Project == "" || !g.includes(w.role):
			case w.scope == owner && !slices.Contains(v.Owners, g.Project):
				v.Owners = append(v.Owners, g.Project)
			case w.scope == lessee && !slices.Contains(v.Lessees, g.Project):
				v.Lessees = append(v.Lessees, g.Project)
			}
		}
	}
	return v
}

// holds is for scopes that do not depend on a target.
func (w who) holds(id *Identity) bool {
	switch w.scope {
	case system:
		return id.has(w.role, "")
	case anywhere:
		return slices.ContainsFunc(id.Grants, func(g Grant) bool { return g.includes(w.role) })
	default:
		return false
	}
}

func (id *Identity) has(role Role, project string) bool {
	return slices.ContainsFunc(id.Grants, func(g Grant) bool { return g.Project == project && g.includes(role) })
}

func (g Grant) includes(role Role) bool { return slices.Contains(implied[role], g.Role) }

// Covers reports whether somebody has every grant of a list himself, so that he can pass them on.
func Covers(id *Identity, grants []Grant) bool {
	return !slices.ContainsFunc(grants, func(g Grant) bool { return !id.has(g.Role, g.Project) && !id.has(Admin, "") })
}
