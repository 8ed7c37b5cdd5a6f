package store

import "strings"

// refusal is a reason not to give a node (n) to an allocation: the SQL of its
// words, and of when it holds. Their parameters are offerArgs and the class.
type refusal struct{ words, when string }

// refusals are all reasons, in the order in which people are told: a node counts
// for the first that holds. What is offered is what none of them holds for.
var refusals = []refusal{
	{"'of another class'", "n.resource_class IS DISTINCT FROM @class"},
	{"n.provision_state", "n.provision_state <> 'available'"},
	{"'in use'", "n.instance_uuid IS NOT NULL"},
	{"'with a fault'", "n.fault IS NOT NULL"},
	{"'retired'", "n.retired"},
	{"'quarantined'", "NOT " + coveredNodeSQL},
	{"'in maintenance'", "n.maintenance AND NOT @admitted"},
	{"'held by an operation'", "EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)"},
	{"'with an unknown power state'", "coalesce(n.power_state, 'error') = 'error'"},
	{"'of another project'", "@owner::text <> '' AND n.owner IS DISTINCT FROM @owner AND n.lessee IS DISTINCT FROM @owner"},
	{"'of a project'", "@dedicated AND @owner::text = '' AND coalesce(n.owner, n.lessee) IS NOT NULL"},
	{"'without the traits'", "(@maintained AND NOT n.maintenance OR NOT n.traits @> @traits::text[])"},
}

// coveredNodeSQL holds for a node that is not in quarantine.
const coveredNodeSQL = `EXISTS (SELECT FROM needs d WHERE d.id = n.need_id AND NOT d.held AND EXISTS (
	SELECT FROM conductors c CROSS JOIN witness w
	 WHERE c.conductor_group = d.conductor_group AND c.interfaces @> d.wants AND NOT c.draining AND ` + aliveSQL + `))`

// offeredSQL holds for a node that an allocation may get.
var offeredSQL = func() string {
	out := make([]string, len(refusals))
	for i, r := range refusals {
		out[i] = "NOT (" + r.when + ")"
	}
	return strings.Join(out, "\n\tAND ")
}()

// refusedSQL is the first reason, as words; those that are offered were taken
// and freed while somebody looked.
var refusedSQL = func() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, r := range refusals {
		b.WriteString("\n\tWHEN " + r.when + " THEN " + r.words)
	}
	b.WriteString("\n\tELSE 'free again' END")
	return b.String()
}()
