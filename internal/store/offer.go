package store

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// refusal is a reason not to give a node (n) to an allocation, in SQL: its words, and the condition
// under which it holds. The parameters are offerArgs. asked says that the reason depends on what the
// allocation asks for. Nodes with one of the other reasons are those that availableSQL leaves out.
type refusal struct {
	words, when string
	asked       bool
}

const classSQL = "(n.resource_class = @class) IS NOT TRUE"

// withheldSQL holds for a node that is offered to nobody because of its health, if the setting unhealthy_nodes says so.
const withheldSQL = "@withhold::boolean AND n.id IN (SELECT h.node_id FROM node_health h WHERE h.status = 'critical')"

// refusals are all reasons. If several hold for a node, the first one is reported.
var refusals = []refusal{
	{words: "'of another class'", when: classSQL, asked: true},
	{words: "n.provision_state", when: "n.provision_state <> 'available'"},
	{words: "'in use'", when: "coalesce(n.instance_uuid, n.allocation_uuid) IS NOT NULL"},
	{words: "'with a fault'", when: "n.fault IS NOT NULL"},
	{words: "'retired'", when: "n.retired"},
	{words: "'in critical health'", when: withheldSQL},
	{words: "'quarantined'", when: "NOT (" + servableSQL + ")"},
	{words: "'in maintenance'", when: "n.maintenance AND NOT @in_maintenance_too", asked: true},
	{words: "'held by an operation'", when: "EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)"},
	{words: "'with an unknown power state'", when: "coalesce(n.power_state, 'error') = 'error'"},
	{words: "'not of the project'", when: "@owner::text <> '' AND n.owner IS DISTINCT FROM @owner AND n.lessee IS DISTINCT FROM @owner", asked: true},
	{words: "'of a project'", when: "@dedicated AND @owner::text = '' AND coalesce(n.owner, n.lessee) IS NOT NULL", asked: true},
	{words: "'without the traits'", when: "@maintained AND NOT n.maintenance OR NOT n.traits @> @traits::text[]", asked: true},
}

// offeredSQL holds for a node that an allocation may get: the node can be offered at all
// (availableSQL), has the class, and none of the reasons that depend on the allocation holds.
var offeredSQL = offeredIfSQL(availableSQL)

// offeredOrHeldSQL holds for a node that an allocation may get, or could get if no operation held the node.
var offeredOrHeldSQL = offeredIfSQL(servableSQL + " AND" + freeOrHeldSQL)

func offeredIfSQL(free string) string {
	out := []string{free, "n.resource_class = @class"}
	for _, r := range refusals {
		if r.asked && r.when != classSQL {
			out = append(out, "NOT ("+r.when+")")
		}
	}
	return strings.Join(out, "\n\tAND ")
}

// unofferedSQL selects why no allocation can get node @ident now, whatever it asks for. There is no
// row if one can.
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
	b.Queue(byIdent(ident, unofferedSQL("n.uuid"), unofferedSQL("n.name")), args{"ident": ident, "timeout": micros(s.conductorTimeout), "withhold": s.withhold}).QueryRow(maybe(&found, func(r pgx.Row) error { return r.Scan(&u.why) }))
}

// check returns why n can't be claimed, nil if it can. knows says that the client knows what a node in
// maintenance requires of it.
func (u *unoffered) check(n *node.Node, knows bool) error {
	switch {
	case u.why != "":
		return fault.New(fault.Conflict, "Node %s can not be claimed: it is %s.", n.UUID, u.why)
	case n.Maintenance && !knows:
		return fault.New(fault.Conflict, "Node %s can not be claimed: it is in maintenance, and the claim does not say knows=requires.", n.UUID)
	}
	return nil
}

// freeAgain are the words for a node that no reason keeps from the allocation.
const freeAgain = "free again"

// refusedSQL gives the words of the first reason that holds for a node. If none holds, the node
// became free after the search for a node had failed.
var refusedSQL = func() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, r := range refusals {
		b.WriteString("\n\tWHEN " + r.when + " THEN " + r.words)
	}
	b.WriteString("\n\tELSE '" + freeAgain + "' END")
	return b.String()
}()
