package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// Which nodes need a person is decided by the function needs_person of the schema.

// The page is cut before the rest of its nodes is read. {where} is made by attentionFilter.
const attentionSQL = `
SELECT n.uuid::text, coalesce(n.name, ''), n.provision_state, a.rank, a.reason, a.cause, coalesce(a.operation_id, 0), a.since, a.node_id,
	coalesce(CASE a.reason WHEN 'owed' THEN n.owed_error WHEN 'quarantined' THEN NULL WHEN 'unhealthy' THEN NULL WHEN 'failed' THEN n.last_error
		ELSE coalesce((SELECT o.error FROM operations o WHERE o.id = a.operation_id), n.last_error) END, ''),
	CASE a.reason WHEN 'unhealthy' THEN (SELECT h.reasons FROM node_health h WHERE h.node_id = a.node_id) END
  FROM (SELECT a.* FROM needs_person(@timeout) a{where}
	 ORDER BY a.rank, a.node_id LIMIT @limit) AS a JOIN nodes n ON n.id = a.node_id
 ORDER BY a.rank, a.node_id`

// Attention returns a page of the nodes that need a person, the worst first.
func (s *Store) Attention(ctx context.Context, f node.AttentionFilter) ([]node.Attention, error) {
	sql, a := s.attention(f)
	return list(ctx, s, "list what needs a person", sql, a, func(r pgx.Row) (a node.Attention, err error) {
		return a, r.Scan(&a.NodeUUID, &a.NodeName, &a.ProvisionState, &a.Rank, &a.Reason, &a.Cause, &a.Operation, &a.Since, &a.ID, &a.Error, &a.Health)
	})
}

func (s *Store) attention(f node.AttentionFilter) (string, args) {
	q := s.attentionFilter(f)
	if f.AfterRank > 0 {
		q.and("(a.rank, a.node_id) > (@rank, @after)")
		q.args["rank"], q.args["after"] = f.AfterRank, f.AfterNode
	}
	return strings.Replace(attentionSQL, "{where}", q.String(), 1), q.args
}

// attentionFilter makes the conditions on needs_person (a).
func (s *Store) attentionFilter(f node.AttentionFilter) *query {
	q := &query{args: args{"timeout": micros(s.conductorTimeout), "limit": pageLimit(f.Limit)}}
	of := &query{args: q.args} // of nodes
	equalUnlessEmpty := func(q *query, column, name, value string) {
		if value != "" {
			equal(q, column, name, &value)
		}
	}
	equalUnlessEmpty(q, "a.reason", "reason", string(f.Reason))
	equalUnlessEmpty(q, "a.cause", "cause", string(f.Cause))
	equal(of, "n.conductor_group", "conductor_group", f.ConductorGroup)
	equalUnlessEmpty(of, "n.driver", "driver", f.Driver)
	equalUnlessEmpty(of, "n.resource_class", "resource_class", f.ResourceClass)
	equalUnlessEmpty(of, "n.provision_state", "provision_state", string(f.State))
	if f.Nodes != nil {
		of.and("n.uuid = ANY(@nodes::uuid[])")
		q.args["nodes"] = f.Nodes
	}
	if of.where != nil {
		q.and("a.node_id IN (SELECT n.id FROM nodes n" + of.String() + ")")
	}
	return q
}

// maxNamed bounds the names of an AttentionGroup.
const maxNamed = 5

const attentionGroupsSQL = `
SELECT g.rank, g.reason, g.cause, g.count, g.since,
	(SELECT array_agg(coalesce(n.name, n.uuid::text) ORDER BY n.id) FROM nodes n WHERE n.id = ANY(g.ids))
  FROM (SELECT a.rank, a.reason, a.cause, count(*) AS count, min(a.since) AS since, (array_agg(a.node_id))[1:@named] AS ids
	  FROM needs_person(@timeout) a{where} GROUP BY 1, 2, 3) AS g
 WHERE (g.rank, -g.count, g.cause) > (@rank::int, -@count::bigint, @after::text)
 ORDER BY g.rank, g.count DESC, g.cause LIMIT @limit`

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
	return strings.Replace(attentionGroupsSQL, "{where}", q.String(), 1), q.args
}
