package access

import (
	"fmt"
	"strings"
)

//go:generate go test -run ^TestTheRightsStandInTheDocumentation$ . -update

// Markdown is the table of all rules, for the documentation.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| rule | who it lets | in the system | of the owner | of the lessee | anywhere |\n|---|---|---|---|---|---|\n")
	for _, r := range table {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.Name, r.Does, r.roles(system), r.roles(owner), r.roles(lessee), r.roles(anywhere))
	}
	return b.String()
}

// roles names the least roles with which the rule allows something in a scope.
func (r *Rule) roles(s scope) string {
	var names []string
	for _, role := range []Role{Reader, Member, Manager, Admin, Service} {
		for _, w := range r.who {
			if w.scope == s && w.role == role && (len(names) == 0 || role == Service) {
				names = append(names, string(role))
				break
			}
		}
	}
	return strings.Join(names, ", ")
}
