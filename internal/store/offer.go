package store

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// refusal is a reason not to give a node (n) to an allocation: the SQL of its
// words, and of when it holds. Parameters are offerArgs. asked: it hangs on what
// the allocation asks for; the others are those that availableSQL denies.
type refusal struct {
	words, when string
	asked       bool
}

const classSQL = "(n.resource_class = @class) IS NOT TRUE"

// refusals are all reasons, in the order in which people are told: a node counts
// for the first that holds.
var refusals = []refusal{
	{words: "'of another class'", when: classSQL, asked: true},
	{words: "n.provision_state", when: "n.provision_state <> 'available'"},
	{words: "'in use'", when: "coalesce(n.instance_uuid, n.allocation_uuid) IS NOT NULL"},
	{words: "'with a fault'", when: "n.fault IS NOT NULL"},
	{words: "'retired'", when: "n.retired"},
	{words: "'quarantined'", when: "NOT (" + servableSQL + ")"},
	{words: "'in maintenance'", when: "n.maintenance AND NOT @admitted", asked: true},
	{words: "'held by an operation'", when: "EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)"},
	{words: "'with an unknown power state'", when: "coalesce(n.power_state, 'error') = 'error'"},
	{words: "'not of the project'", when: "@owner::text <> '' AND n.owner IS DISTINCT FROM @owner AND n.lessee IS DISTINCT FROM @owner", asked: true},
	{words: "'of a project'", when: "@dedicated AND @owner::text = '' AND coalesce(n.owner, n.lessee) IS NOT NULL", asked: true},
	{words: "'without the traits'", when: "@maintained AND NOT n.maintenance OR NOT n.traits @> @traits::text[]", asked: true},
}

// offeredSQL holds for a node that an allocation may get: one that is available
// to anybody, of its class, and nothing it asks for speaks against.
var offeredSQL = func() string {
	out := []string{availableSQL, "n.resource_class = @class"}
	for _, r := range refusals {
		if r.asked && r.when != classSQL {
			out = append(out, "NOT ("+r.when+")")
		}
	}
	return strings.Join(out, "\n\tAND ")
}()

// unofferedSQL is why node @ident can't be had now, whatever is asked for; no row
// where it can.
func unofferedSQL(by string) string {
	var b strings.Builder
	b.WriteString("WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))\nSELECT r.why FROM nodes n CROSS JOIN LATERAL (SELECT CASE")
	for _, r := range refusals {
		if !r.asked {
			b.WriteString("\n\tWHEN " + r.when + " THEN " + r.words)
		}
	}
	b.WriteString("\n\tEND AS why) r WHERE " + by + " = @ident AND r.why IS NOT NULL")
	return b.String()
}

// unoffered is why a locked node can't be claimed; "" = it can.
type unoffered struct{ why string }

func (u *unoffered) queue(b *pgx.Batch, s *Store, ident string) {
	found := false
	b.Queue(byIdent(ident, unofferedSQL("n.uuid"), unofferedSQL("n.name")), args{"ident": ident, "timeout": micros(s.conductorTimeout)}).QueryRow(maybe(&found, func(r pgx.Row) error { return r.Scan(&u.why) }))
}

// check refuses n to a client that knows what nodes in maintenance require, or does not.
func (u *unoffered) check(n *node.Node, knows bool) error {
	switch {
	case u.why != "":
		return fault.New(fault.Conflict, "Node %s can not be claimed: it is %s.", n.UUID, u.why)
	case n.Maintenance && !knows:
		return fault.New(fault.Conflict, "Node %s can not be claimed: it is in maintenance, and the claim does not say knows=requires.", n.UUID)
	}
	return nil
}

// refusedSQL is the first reason, as words; a node without one was freed while
// somebody looked.
var refusedSQL = func() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, r := range refusals {
		b.WriteString("\n\tWHEN " + r.when + " THEN " + r.words)
	}
	b.WriteString("\n\tELSE 'free again' END")
	return b.String()
}()
