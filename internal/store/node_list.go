package store

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// nodeSort has the SQL expression of each sort key of nodes.
var nodeSort = func() map[string]string {
	keys := nodeTable.sorts()
	keys["health"] = "coalesce((SELECT x.status FROM node_health x WHERE x.node_id = n.id), '')"
	return keys
}()

// pageSQL returns the statement of a page of nodes. end is the end of the SELECT of their rows, and with are further WITH queries, each after
// a comma.
func (q *query) pageSQL(with, end string) string {
	from := "nodes n"
	if q.apart {
		from, end = "(SELECT n.* FROM nodes n"+end+") n", q.tail
	}
	return withCoverageSQL + with + `
SELECT n.*, o.*, a.*, ` + joinedRelationsSQL + `,
	v.quarantined, v.held AND v.covered, v.since, v.draining, coalesce(h.status, '')
  FROM ` + from + `
  LEFT JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL
  LEFT JOIN agents a ON a.node_id = n.id` + joinRelationsSQL + `
  LEFT JOIN coverage v ON v.id = n.need_id
  LEFT JOIN node_health h ON h.node_id = n.id` + end
}

// EachNode gives a page of the nodes that the filter selects, each with its open operation, its agent,
// its quarantine and its health. Without a sort key the oldest come first.
func (s *Store) EachNode(ctx context.Context, f node.Filter, p node.Page) iter.Seq2[*node.Listed, error] {
	return eachOfNodes(ctx, s, f, p, eachListed())
}

// Nodes is EachNode with all nodes at once, whose JSON is decoded.
func (s *Store) Nodes(ctx context.Context, f node.Filter, p node.Page) (out []node.Node, err error) {
	for n, err := range eachOfNodes(ctx, s, f, p, eachShownNode()) {
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func eachOfNodes[T any](ctx context.Context, s *Store, f node.Filter, p node.Page, scan func(pgx.Row) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := &query{args: args{"timeout": micros(s.conductorTimeout)}, view: p.Only}
		q.nodes(f)
		err := q.page("nodes", "n", nodeSort, p)
		if err == nil {
			err = ownedNodes.marker(ctx, s, p, nodeMissing)
		}
		var none T
		if err != nil {
			yield(none, err)
			return
		}
		empty := true
		for n, err := range each(ctx, s, "list nodes", q.nodesSQL(), q.args, scan) {
			empty = false
			if !yield(n, err) {
				return
			}
		}
		if empty && p.Marker != "" {
			if err := s.needMarker(ctx, nodeMarkerSQL, p.Marker, nodeMissing); err != nil {
				yield(none, err)
			}
		}
	}
}

// nodeMissing is the error for a marker that is no node.
const nodeMissing = "Node %s could not be found."

const nodeMarkerSQL = `SELECT true FROM nodes WHERE uuid = @marker`

// needMarker returns fault.NotFound if the row with the uuid marker does not exist. It is called for
// an empty page, which may be empty for that reason.
func (s *Store) needMarker(ctx context.Context, sql, marker, missing string) error {
	found, err := s.one(ctx, "look for the marker", sql, args{"marker": marker}, func(r pgx.Row) error {
		var yes bool
		return r.Scan(&yes)
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, missing, marker)
	}
	return err
}

// query collects the conditions of a list, its order and its parameters.
type query struct {
	where []string
	tail  string
	args  args

	// For a list of nodes: quarantined selects nodes in quarantine only; maintained adds those
	// that an operator or a failure has put into maintenance.
	quarantined, maintained bool
	byID                    bool // the list is ordered by age
	// apart: the page is chosen in a query of its own. Among the joins of a page, PostgreSQL does not look for the best place of a
	// condition on other tables. Without such a condition, it costs a third of a page's time.
	apart bool
	view  *node.View
}

// nodesSQL returns the statement of a page of nodes. A list of nodes in quarantine that is ordered by
// age has a statement of its own: such nodes may be few or nearly all, and PostgreSQL can't know
// which when it plans. The statement takes the first nodes of each row of needs that nobody covers,
// so that it reads at most a page for each of these rows. For the same reason, a list of what projects own or lease takes the
// first nodes of each project.
func (q *query) nodesSQL() string {
	q.apart = q.apart || q.quarantined || q.view != nil
	some := func(condition string) string {
		return "SELECT n.id FROM nodes n WHERE " + strings.Join(append([]string{condition}, q.where...), " AND ") + q.tail
	}
	switch {
	case q.view != nil && !q.quarantined && q.byID:
		q.views(q.view)
		of := func(projects, column string) string {
			return "SELECT l.id FROM unnest(@" + projects + "::text[]) x (project) CROSS JOIN LATERAL (" + some("n."+column+" = x.project") + ") l"
		}
		return q.pageOf(of("view_owners", "owner") + " UNION " + of("view_lessees", "lessee"))
	case q.view != nil:
		q.only(q.view, "n")
	}
	switch {
	case !q.quarantined:
		return q.pageSQL("", q.String())
	case !q.byID && q.maintained:
		q.and("(n.maintenance OR " + quarantinedSQL + ")")
		return q.pageSQL("", q.String())
	case !q.byID:
		q.and(quarantinedSQL)
		return q.pageSQL("", q.String())
	}
	ids := "SELECT l.id FROM coverage x CROSS JOIN LATERAL (" + some("n.need_id = x.id") + ") l WHERE x.quarantined"
	if q.maintained {
		ids = "(" + some("n.maintenance") + ") UNION " + ids
	}
	return q.pageOf(ids)
}

// pageOf returns the statement of a page of those nodes whose ids a statement selects.
func (q *query) pageOf(ids string) string {
	return q.pageSQL(", page AS MATERIALIZED (SELECT n.id FROM ("+ids+") n"+q.tail+")", " WHERE n.id IN (SELECT p.id FROM page p)"+q.tail)
}

func (q *query) String() string {
	if len(q.where) == 0 {
		return q.tail
	}
	return " WHERE " + strings.Join(q.where, " AND ") + q.tail
}

func (q *query) and(condition string) { q.where = append(q.where, condition) }

// equal adds the condition that column is the value v, if there is one.
func equal[T ~string](q *query, column, name string, v *T) {
	if v != nil {
		q.and(column + " = @" + name)
		q.args[name] = string(*v)
	}
}

// uuidEqual is equal for a column of uuids. A value that is no uuid selects no row.
func (q *query) uuidEqual(column, name string, v *string) {
	switch {
	case v == nil:
	case !node.IsHyphenatedUUID(*v):
		q.and("false")
	default:
		equal(q, column, name, v)
	}
}

func (q *query) either(v *bool, yes, no string) {
	switch {
	case v == nil:
	case *v:
		q.and(yes)
	default:
		q.and(no)
	}
}

// notOthersSQL selects nodes that may be this conductor's: the ring gives the node to it, or to no
// conductor that works, or the node has come to its ring since the ring was computed.
const notOthersSQL = `(
	n.id IN (SELECT w.node_id FROM ring_owners w JOIN conductors k ON k.id = w.conductor_id WHERE k.hostname = @conductor)
	OR n.id NOT IN (SELECT w.node_id FROM ring_owners w JOIN conductors k ON k.id = w.conductor_id WHERE k.hostname = ANY (@working))
	OR n.need_id IN (SELECT x.need_id FROM ring_changes x))`

func (q *query) nodes(f node.Filter) {
	q.uuidEqual("n.instance_uuid", "instance_uuid", f.InstanceUUID)
	q.uuidEqual("n.chassis_uuid", "chassis_uuid", f.ChassisUUID)
	q.uuidEqual("n.parent_node", "parent_node", f.ParentNode)
	equal(q, "n.instance_name", "instance_name", f.InstanceName)
	equal(q, "n.driver", "driver", f.Driver)
	equal(q, "n.resource_class", "resource_class", f.ResourceClass)
	equal(q, "n.conductor_group", "conductor_group", f.ConductorGroup)
	if f.Fault != nil && *f.Fault == node.FaultNoConductor {
		q.and("n.fault IS NULL")
		q.quarantined = true
	} else {
		equal(q, "n.fault", "fault", f.Fault)
	}
	equal(q, "n.owner", "owner", f.Owner)
	equal(q, "n.lessee", "lessee", f.Lessee)
	equal(q, "n.provision_state", "provision_state", f.ProvisionState)
	q.apart = f.Health != nil || f.Conductor != nil
	if f.Health != nil {
		q.and("n.id IN (SELECT x.node_id FROM node_health x WHERE x.status = @health)")
		q.args["health"] = string(*f.Health)
	}
	if f.Project != nil {
		q.and("(n.owner = @project OR n.lessee = @project)")
		q.args["project"] = *f.Project
	}
	if f.Conductor != nil {
		q.and(notOthersSQL)
		q.args["conductor"], q.args["working"] = *f.Conductor, f.Working
	}
	if f.DescriptionContains != nil {
		q.and("position(lower(@description) in lower(n.description)) > 0")
		q.args["description"] = *f.DescriptionContains
	}
	q.either(f.Associated, "n.instance_uuid IS NOT NULL", "n.instance_uuid IS NULL")
	switch {
	case f.Maintenance == nil:
	case !*f.Maintenance:
		q.and("NOT n.maintenance AND " + servableSQL)
	case q.quarantined: // Ironic shows nodes in quarantine in maintenance
	default:
		q.quarantined, q.maintained = true, true
	}
	q.either(f.Retired, "n.retired", "NOT n.retired")
	q.either(f.Sharded, "n.shard IS NOT NULL", "n.shard IS NULL")
	if len(f.Shards) > 0 {
		q.and("n.shard = ANY(@shards)")
		q.args["shards"] = f.Shards
	}
	if f.ParentNode == nil && !f.IncludeChildren {
		q.and("n.parent_node IS NULL")
	}
}

// page adds the order, the first row and the size of a page of table, which the statement calls
// alias. Rows are ordered by the sort key and then by id. The page begins after the row whose uuid is
// the marker.
func (q *query) page(table, alias string, sorts map[string]string, p node.Page) error {
	direction, after := " ASC", " > "
	switch p.SortDir {
	case "", "asc":
	case "desc":
		direction, after = " DESC", " < "
	default:
		return fault.New(fault.Invalid, "Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", words(p.SortDir, 64))
	}
	id := alias + ".id"
	key, order := id, id+direction
	q.byID = true
	if p.SortKey != "" && p.SortKey != "id" {
		expr, ok := sorts[p.SortKey]
		if !ok {
			return fault.New(fault.Invalid, "The sort_key value %q is an invalid field for sorting", words(p.SortKey, 64))
		}
		q.byID = false
		key, order = expr+", "+id, expr+direction+", "+id+direction
	}
	if p.Marker != "" {
		if !node.IsHyphenatedUUID(p.Marker) {
			return fault.New(fault.Invalid, "Expected a UUID but received %s.", words(p.Marker, 64))
		}
		marked := strings.ReplaceAll(key, alias+".", "m.")
		q.and("(" + key + ")" + after + "(SELECT " + marked + " FROM " + table + " m WHERE m.uuid = @marker)")
		q.args["marker"] = p.Marker
	}
	q.tail = " ORDER BY " + order + " LIMIT "
	// The usual limit is in the text. PostgreSQL expects a limit in a parameter to be a tenth of the table. A plan for any limit then looks
	// so expensive that PostgreSQL plans each list anew.
	if limit := pageLimit(p.Limit); limit == node.MaxLimit {
		q.tail += strconv.Itoa(limit)
	} else {
		q.tail += "@limit"
		q.args["limit"] = limit
	}
	return nil
}
