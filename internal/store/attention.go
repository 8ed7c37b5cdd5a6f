package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// A node needs a person if it is in trouble (troubleSQL), or else if it is in quarantine and nobody looks after it. All nodes of a fleet may be in
// quarantine, so that they are not looked at one by one: a page takes no more of each need than it
// has room for, and a group takes the number from node_counts, less those that are in trouble.
//
// The braces stand for parts that depend on what is asked, mostly conditions (attentionQuery).
const (
	attentionWithSQL = `
WITH ` + troubleSQL + `,
quarantined AS MATERIALIZED (
	SELECT v.id, v.since, c.nodes - coalesce(t.nodes, 0) AS nodes
	  FROM coverage(@timeout) v
		JOIN (SELECT c.need_id, sum(c.nodes) AS nodes FROM node_counts c WHERE NOT c.looked_after{and c} GROUP BY 1) c ON c.need_id = v.id
		LEFT JOIN (SELECT t.need_id, count(*) AS nodes FROM in_trouble t WHERE true{and t} GROUP BY 1) t ON t.need_id = v.id
	 WHERE v.quarantined AND c.nodes > coalesce(t.nodes, 0){and quarantine})`

	// For a page, inTroubleSQL looks for the causes in the order of the page, so that it stops when the page is full.
	inTroubleSQL = `
	SELECT t.node_id, t.rank, t.reason, coalesce(t.cause, l.cause, '') AS cause, coalesce(t.operation_id, l.operation_id) AS operation_id, t.since
	  FROM (SELECT t.* FROM in_trouble t WHERE true{and t}{and named t}{and reason}{and after t}{in order}) t
		LEFT JOIN LATERAL last_failure(CASE WHEN t.cause IS NULL THEN t.node_id END) l ON true
	 WHERE true{and cause}`

	inQuarantineSQL = `
	SELECT n.id AS node_id, 8 AS rank, 'quarantined' AS reason, 'no_conductor' AS cause, NULL::bigint AS operation_id, v.since
	  FROM quarantined v CROSS JOIN LATERAL (
		SELECT n.id FROM nodes n
		 WHERE n.need_id = v.id AND NOT node_looked_after(n.maintenance, n.maintenance_by_fault)
		   AND n.id NOT IN (SELECT t.node_id FROM in_trouble t){and n}{and named n}{and after n}
		 ORDER BY n.id LIMIT {most}) n`

	attentionSQL = attentionWithSQL + `
SELECT n.uuid::text, coalesce(n.name, ''), n.provision_state, a.rank, a.reason, a.cause, coalesce(a.operation_id, 0), a.since, a.node_id,
	coalesce(CASE a.reason WHEN 'owed' THEN n.owed_error WHEN 'quarantined' THEN NULL WHEN 'unhealthy' THEN NULL WHEN 'failed' THEN n.last_error
		ELSE coalesce((SELECT o.error FROM operations o WHERE o.id = a.operation_id), n.last_error) END, ''),
	CASE a.reason WHEN 'unhealthy' THEN (SELECT h.reasons FROM node_health h WHERE h.node_id = a.node_id) END
  FROM (
	(` + inTroubleSQL + ` ORDER BY t.rank, t.node_id LIMIT @limit)
	UNION ALL
	(` + inQuarantineSQL + `)
	ORDER BY rank, node_id LIMIT @limit) AS a JOIN nodes n ON n.id = a.node_id
 ORDER BY a.rank, a.node_id`
)

// Attention returns a page of the nodes that need a person, the worst first.
func (s *Store) Attention(ctx context.Context, f node.AttentionFilter) ([]node.Attention, error) {
	sql, a := s.attention(f)
	return list(ctx, s, "list what needs a person", sql, a, func(r pgx.Row) (a node.Attention, err error) {
		return a, r.Scan(&a.NodeUUID, &a.NodeName, &a.ProvisionState, &a.Rank, &a.Reason, &a.Cause, &a.Operation, &a.Since, &a.ID, &a.Error, &a.Health)
	})
}

func (s *Store) attention(f node.AttentionFilter) (string, args) {
	q := s.attentionFilter(f)
	q.sql["most"], q.sql["in order"] = "@limit", " ORDER BY t.rank, t.node_id"
	if f.AfterRank > 0 {
		q.sql["and after t"] = " AND (t.rank, t.node_id) > (@rank, @after)"
		q.sql["and after n"] = " AND (8, n.id) > (@rank, @after)"
		q.args["rank"], q.args["after"] = f.AfterRank, f.AfterNode
	}
	return q.in(attentionSQL), q.args
}

// attentionQuery has the parts of a statement about what needs a person, by their names in braces.
type attentionQuery struct {
	sql  map[string]string
	args args
}

// in puts the parts into a statement. A condition that is not there is left out.
func (q *attentionQuery) in(sql string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(sql, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		out.WriteString(q.sql[name])
		sql = after
	}
}

func (s *Store) attentionFilter(f node.AttentionFilter) *attentionQuery {
	q := &attentionQuery{sql: map[string]string{}, args: troubleArgs(args{"timeout": micros(s.conductorTimeout), "limit": pageLimit(f.Limit)})}
	equalUnlessEmpty := func(part, column, name, value string) {
		if value != "" {
			q.sql[part] += " AND " + column + " = @" + name
			q.args[name] = value
		}
	}
	equalUnlessEmpty("and reason", "t.reason", "reason", string(f.Reason))
	equalUnlessEmpty("and cause", "coalesce(t.cause, l.cause, '')", "cause", string(f.Cause))
	if f.Reason != "" && f.Reason != node.ReasonQuarantined || f.Cause != "" && f.Cause != fault.NoConductor {
		q.sql["and quarantine"] = " AND false"
	}
	needs := &query{args: q.args}
	equal(needs, "d.conductor_group", "conductor_group", f.ConductorGroup)
	if f.Driver != "" {
		equal(needs, "d.driver", "driver", &f.Driver)
	}
	for _, of := range []string{"t", "n", "c"} { // each has these columns
		equalUnlessEmpty("and "+of, of+".resource_class", "resource_class", f.ResourceClass)
		equalUnlessEmpty("and "+of, of+".provision_state", "provision_state", string(f.State))
		if needs.where != nil {
			q.sql["and "+of] += " AND " + of + ".need_id IN (SELECT d.id FROM needs d" + needs.String() + ")"
		}
	}
	if f.Nodes != nil {
		q.sql["and named t"] = " AND t.node_id IN (SELECT n.id FROM nodes n WHERE n.uuid = ANY(@nodes::uuid[]))"
		q.sql["and named n"] = " AND n.uuid = ANY(@nodes::uuid[])"
		q.args["nodes"] = f.Nodes
	}
	if f.Only != nil {
		view := &query{args: q.args}
		view.only(f.Only, "n")
		q.sql["and named t"] += " AND t.node_id IN (SELECT n.id FROM nodes n" + view.String() + ")"
		q.sql["and named n"] += " AND " + strings.Join(view.where, " AND ")
	}
	return q
}

// maxNamed bounds the names of an AttentionGroup.
const maxNamed = 5

const (
	attentionGroupsSQL = attentionWithSQL + `
SELECT g.rank, g.reason, g.cause, g.count, g.since,
	(SELECT array_agg(coalesce(n.name, n.uuid::text) ORDER BY n.id) FROM nodes n WHERE n.id = ANY(g.ids))
  FROM (
	SELECT a.rank, a.reason, a.cause, count(*) AS count, min(a.since) AS since, (array_agg(a.node_id))[1:@named] AS ids
	  FROM (` + inTroubleSQL + `) a GROUP BY 1, 2, 3
	UNION ALL {quarantine}) AS g
 WHERE (g.rank, -g.count, g.cause) > (@rank::int, -@count::bigint, @after::text)
 ORDER BY g.rank, g.count DESC, g.cause LIMIT @limit`

	// quarantineGroupSQL counts by need, quarantineOfNamedSQL by node.
	quarantineGroupSQL = `
	SELECT 8, 'quarantined', 'no_conductor', sum(v.nodes)::bigint, min(v.since),
		(SELECT (array_agg(a.node_id ORDER BY a.node_id))[1:@named] FROM (` + inQuarantineSQL + `) a)
	  FROM quarantined v HAVING count(*) > 0`
	quarantineOfNamedSQL = `
	SELECT a.rank, a.reason, a.cause, count(*), min(a.since), (array_agg(a.node_id ORDER BY a.node_id))[1:@named]
	  FROM (` + inQuarantineSQL + `) a GROUP BY 1, 2, 3`
)

// AttentionGroups counts the nodes that need a person by reason and cause, and returns a page of the
// groups: the worst reasons first, and of a reason the largest groups.
func (s *Store) AttentionGroups(ctx context.Context, f node.AttentionFilter) ([]node.AttentionGroup, error) {
	sql, a := s.attentionGroups(f)
	return list(ctx, s, "group what needs a person", sql, a, func(r pgx.Row) (g node.AttentionGroup, err error) {
		return g, r.Scan(&g.Rank, &g.Reason, &g.Cause, &g.Nodes, &g.Since, &g.Names)
	})
}

func (s *Store) attentionGroups(f node.AttentionFilter) (string, args) {
	q := s.attentionFilter(f)
	q.args["named"], q.args["rank"], q.args["count"], q.args["after"] = maxNamed, f.AfterRank, f.AfterCount, string(f.AfterCause)
	quarantine := quarantineGroupSQL
	q.sql["most"] = "@named"
	if f.Nodes != nil || f.Only != nil {
		quarantine, q.sql["most"] = quarantineOfNamedSQL, "ALL"
	}
	return q.in(strings.Replace(attentionGroupsSQL, "{quarantine}", quarantine, 1)), q.args
}
