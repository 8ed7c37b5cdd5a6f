package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
	"go.temper.dev/temper/internal/share"
)

// Statement is a statement of the store, for a test that runs EXPLAIN with it.
type Statement struct {
	sql  string
	args args
}

// Explain returns PostgreSQL's plan of the statement, as JSON.
func Explain(ctx context.Context, t testing.TB, s *Store, st Statement) (text string) {
	require.NoError(t, s.pool.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+st.sql, st.args).Scan(&text))
	return text
}

// GenericPlans returns how often the pool's only connection executed the prepared statement that
// contains part with a generic plan, so without planning it anew.
func GenericPlans(ctx context.Context, t testing.TB, s *Store, part string) (n int) {
	const sql = "SELECT generic_plans FROM pg_prepared_statements WHERE strpos(statement, $1) > 0 AND strpos(statement, 'pg_prepared_statements') = 0"
	require.NoError(t, s.pool.QueryRow(ctx, sql, part).Scan(&n))
	return n
}

// NodesStatement returns the statement that Nodes runs.
func NodesStatement(f node.Filter, p node.Page) []Statement {
	q := &query{args: args{"timeout": int64(15_000_000)}}
	q.nodes(f)
	_ = q.page("nodes", "n", nodeSort, p)
	q.view = p.Only
	return []Statement{{q.nodesSQL(), q.args}}
}

// ShardsStatement returns the statement that Shards runs.
func ShardsStatement() Statement { return Statement{shardsSQL, args{"limit": maxShards}} }

// AvailableStatement returns the statement that Available runs.
func AvailableStatement(f node.AvailableFilter) Statement {
	q := (&Store{conductorTimeout: 15 * time.Second, withhold: true}).availableQuery(f)
	_ = q.page("nodes", "n", nil, node.Page{})
	return Statement{availableNodesSQL + q.String(), q.args}
}

// HealthStatements returns the statements that HealthList runs.
func HealthStatements(f node.HealthFilter) []Statement {
	sql, a := (&Store{}).healthList(f)
	return []Statement{{sql, a}}
}

// ConsolesStatement returns the statement that ConsolesOwned runs.
func ConsolesStatement() Statement {
	return Statement{consolesOwnedSQL, args{"hostname": "c1", "incarnation": 1, "drivers": []string{"ipmi", "fake-hardware"}, "after": 0, "limit": 500}}
}

// PortsStatement returns the statement that Ports runs for filters without a node.
func PortsStatement(f node.PortFilter, p node.Page) []Statement {
	q := &query{args: args{}}
	q.ports(f)
	_ = q.page("ports", "r", ports.sorts, p)
	q.only(p.Only, "n")
	return []Statement{{ports.selected + q.String(), q.args}}
}

// RecordStatements returns the statements of lists of records, by name; ofNode is the number of a node.
func RecordStatements(ofNode int64) map[string]Statement {
	out := map[string]Statement{}
	add := func(name, selected, table string, sorts map[string]string, change func(*query)) {
		q := &query{args: args{}}
		change(q)
		_ = q.page(table, "r", sorts, node.Page{})
		out[name] = Statement{selected + q.String(), q.args}
	}
	all := func(*query) {}
	of := func(q *query) {
		q.and("r.node_id = @node")
		q.args["node"] = ofNode
	}
	address := "00:00:00:00:00:07"
	add("portgroups", portgroups.selected, portgroups.name, portgroups.sorts, all)
	add("portgroups of a node", portgroups.selected, portgroups.name, portgroups.sorts, of)
	add("portgroups by address", portgroups.selected, portgroups.name, portgroups.sorts, func(q *query) { q.portgroups(node.PortgroupFilter{Address: &address}) })
	add("portgroups of a conductor group", portgroups.selected, portgroups.name, portgroups.sorts, func(q *query) { q.portgroups(node.PortgroupFilter{ConductorGroups: []string{"rack-9"}}) })
	add("volume connectors", volumeConnectors.selected, volumeConnectors.name, volumeConnectors.sorts, all)
	add("volume connectors of a node", volumeConnectors.selected, volumeConnectors.name, volumeConnectors.sorts, of)
	add("volume targets", volumeTargets.selected, volumeTargets.name, volumeTargets.sorts, all)
	add("volume targets of a node", volumeTargets.selected, volumeTargets.name, volumeTargets.sorts, of)
	add("deploy templates", deployTemplates.selected, deployTemplates.name, deployTemplates.sorts, all)
	add("chassis", chassis.selected, chassis.name, chassis.sorts, all)
	add("runbooks", runbooks.selected, runbooks.name, runbooks.sorts, all)
	out["deploy templates of a node"] = Statement{deployTemplates.selected + templatesOfNode(""), args{"ident": "node-1"}}
	return out
}

// OperationsStatement returns the statement that Operations runs for filters with a uuid.
func OperationsStatement(f node.OperationFilter) []Statement {
	q := operationsQuery(f, f.Node)
	return []Statement{{operationsSQL + q.String(), q.args}}
}

// NewestEndedStatement returns the statement that NewestEnded runs.
func NewestEndedStatement(nodeUUID string) Statement {
	return Statement{newestEndedSQL, args{"node": nodeUUID}}
}

// SiblingsStatement returns the statement with which Hardware compares a node with others of its class.
func SiblingsStatement(nodeID int64, class string) Statement {
	return Statement{siblingsSQL, siblingsArgs(nodeID, class)}
}

// Disagreeing counts the nodes about which the two expressions disagree: offered to a with a
// reason why not, or not offered without a reason. It also counts those that are offered.
func (s *Store) Disagreeing(ctx context.Context, t testing.TB, a node.Allocation, dedicated bool) (disagree, offered int) {
	sql := `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT count(*) FILTER (WHERE (` + offeredSQL + `) IS TRUE IS DISTINCT FROM (` + refusedSQL + ` = '` + freeAgain + `')),
		count(*) FILTER (WHERE ` + offeredSQL + `) FROM nodes n`
	require.NoError(t, s.pool.QueryRow(ctx, sql, s.offerArgs(&a, dedicated)).Scan(&disagree, &offered))
	return disagree, offered
}

// AllocateStatements returns the statements with which Allocate finds a node, by name.
func (s *Store) AllocateStatements(a node.Allocation) map[string]Statement {
	with := func(more args) args { return (&giving{offer: s.offerArgs(&a, false)}).with(more) }
	given := args{"uuid": a.UUID, "asked": a.Traits}
	named := args{"uuid": a.UUID, "asked": a.Traits, "name": a.Name}
	among := args{"candidates": a.CandidateNodes}
	return map[string]Statement{
		"quickly": {giveQuicklySQL, with(named)}, "patiently": {givePatientlySQL, with(given)}, "the failure": {refusedInClassSQL, with(nil)},
		"among the named":             {giveAmongSQL, (&giving{offer: with(named)}).with(among)},
		"among the named, patiently":  {giveAmongPatientlySQL, (&giving{offer: with(given)}).with(among)},
		"the failure among the named": {refusedAmongSQL, with(among)},
		"those that are held":         {heldInClassSQL, with(nil)},
		"held among the named":        {heldAmongSQL, with(among)},
	}
}

// ReconcileStatements returns the statements that a reconciliation runs, by name.
func ReconcileStatements() map[string]Statement {
	return map[string]Statement{
		"not begun": {notBegunSQL, args{"age": int64(1), "limit": 1000}},
		"begun":     {openRunsSQL, args{"after": int64(0), "limit": 1000}},
		"owing":     {undosDueSQL, args{"media": int64(120_000_000), "insert": node.InsertMedia, "limit": 10, "timeout": int64(1)}},
		"asked":     {askedSQL, args{"age": int64(1), "limit": 1000, "timeout": int64(1), "after": nil, "after_id": int64(0)}},
		"stale":     {staleWaitsSQL, args{"timeout": int64(1), "limit": 1000, "interrupting": node.Interrupting}},
	}
}

// PowerStatements returns the statements that list the BMCs which a conductor asks, and the one that writes what they say again, by name.
func PowerStatements() map[string]Statement {
	a := args{"hostname": "c1", "drivers": []string{"fake-hardware"}, "limit": 500}
	with := func(name string, v int64) args { b := maps.Clone(a); b[name] = v; return b }
	return map[string]Statement{
		"power due": {powerDueSQL, with("after", 0)}, "silent due": {silentDueSQL, with("within", 1)},
		"power read again": {powerReadAgainSQL, args{"ids": []int64{7}, "states": []string{"power on"}, "ages": []int64{1}}},
	}
}

// AttentionStatements returns the statements about what needs a person, by name.
func AttentionStatements() map[string]Statement {
	s := &Store{conductorTimeout: time.Hour}
	out := map[string]Statement{}
	for name, f := range map[string]node.AttentionFilter{
		"all": {Limit: 100}, "a later page": {Limit: 100, AfterRank: 2, AfterNode: 7}, "of a cause": {Limit: 100, Cause: "bmc_silent"},
		"of a driver": {Limit: 100, Driver: "redfish"},
		"of a class":  {Limit: 100, ResourceClass: "tin"}, "of a state": {Limit: 100, State: node.Available}, "of a reason": {Limit: 100, Reason: node.ReasonFailed},
		"in quarantine": {Limit: 100, AfterRank: 8, AfterNode: 50_000}, "of nodes": {Limit: 100, Nodes: []string{"00000000-0000-0000-0000-000000000001"}},
	} {
		one, a := s.attention(f)
		out[name] = Statement{one, a}
		groups, b := s.attentionGroups(f)
		out["groups, "+name] = Statement{groups, b}
	}
	return out
}

// NodeSortKeys returns the keys by which nodes can be sorted, except id.
func NodeSortKeys() []string { return slices.Sorted(maps.Keys(nodeSort)) }

// Kept returns the conductors from which reconciliation takes no nodes away.
func Kept(ctx context.Context, s *Store) ([]string, error) {
	return list(ctx, s, "list kept conductors", `SELECT c.hostname FROM conductors c CROSS JOIN witness w WHERE conductor_kept(c, w, @timeout) ORDER BY 1`,
		args{"timeout": micros(s.conductorTimeout)}, func(r pgx.Row) (h string, err error) { return h, r.Scan(&h) })
}

// URL returns the URL of the store's database.
func (s *Store) URL() string { return s.url }

// OnceStatements returns the statements about idempotency keys that must not read the whole table.
func OnceStatements(uuid, name string) []Statement {
	find := func(sql, ident string) Statement {
		return Statement{sql, args{"ident": ident, "key": "k1", "age": micros(node.IdempotencyKeyLifetime)}}
	}
	return []Statement{
		find(earlierByUUIDSQL, uuid), find(earlierByNameSQL, name),
		{forgetRequestsSQL, args{"age": micros(node.IdempotencyKeyLifetime), "limit": 10}},
	}
}

// Columns returns the columns of the tables that are read into Go structs, by table.
func Columns() map[string][]string {
	return map[string][]string{
		"nodes": columnNames(nodeTable), "operations": columnNames(operationTable), "agents": columnNames(agentTable),
		"ports": columnNames(ports.columns), "portgroups": columnNames(portgroups.columns),
		"deploy_templates": columnNames(deployTemplates.columns), "runbooks": columnNames(runbooks.columns), "chassis": columnNames(chassis.columns),
		"volume_connectors": columnNames(volumeConnectors.columns), "volume_targets": columnNames(volumeTargets.columns), "allocations": columnNames(allocationTable), "conductors": columnNames(conductorTable),
		"compute_services": columnNames(serviceTable),
	}
}

func columnNames[T any](t *table[T]) (out []string) {
	for _, c := range t.columns {
		out = append(out, c.name)
	}
	return out
}

// ReSecret puts secrets back into a dictionary of a row: those whose names begin
// with prefix ("driver_info", "instance_info"). dict is not changed.
func ReSecret(dict map[string]any, secrets node.Secrets, prefix string) map[string]any {
	mine := map[string]any{}
	for name, v := range secrets {
		if path, ok := strings.CutPrefix(name, prefix); ok && strings.HasPrefix(path, "/") {
			mine[path] = v
		}
	}
	if dict == nil {
		dict = map[string]any{}
	}
	return secret.Unmask(dict, mine)
}

// TimesKept is how many usual times are stored.
const TimesKept = timesKept

// NodeWriters returns which statements write a column of nodes that are made from the table of its columns.
func NodeWriters(column string) (create, patch, move bool) {
	i, _ := nodeTable.place(column)
	w := nodeTable.columns[i].writers
	return w&onCreate != 0, w&onPatch != 0, w&onMove != 0
}

// PatchedColumns are the columns of nodes that a PATCH writes.
func PatchedColumns() []string { return strings.Split(nodeTable.names(onPatch), ", ") }

// EventsStatement is the statement that reads events.
func EventsStatement(q events.Query) (string, pgx.StrictNamedArgs) { return eventsSQL, eventArgs(q) }

// UpdateNode is ClaimNode for somebody who is no compute service.
func (s *Store) UpdateNode(ctx context.Context, ident, user string, edit func(*node.Node) (node.Secrets, error)) (*node.Node, error) {
	return s.ClaimNode(ctx, ident, user, share.Claimer{}, edit)
}

// AddHistory adds an event to the history of the node e.NodeUUID. UUID of e is not used. It returns fault.NotFound if there is no such node.
func (s *Store) AddHistory(ctx context.Context, e node.HistoryEvent) error {
	return s.inNodeTx(ctx, e.NodeUUID, "add history to node "+e.NodeUUID, func(l *lockedNode, b *pgx.Batch) error {
		queueHistory(b, l.ID, e)
		return nil
	})
}

// StartRequestSQL is the statement of StartRequest.
const StartRequestSQL = startRequestSQL

// TroubleSQL is troubleSQL, and TroubleArgs returns its arguments.
const TroubleSQL = troubleSQL

func TroubleArgs(conductorTimeout time.Duration) pgx.StrictNamedArgs {
	return troubleArgs(args{"timeout": micros(conductorTimeout)})
}

// Decide writes what is decided of the open operation of a node (decided), after a test has written its row.
func Decide(ctx context.Context, t testing.TB, s *Store, nodeUUID string) {
	t.Helper()
	all, err := s.Operations(ctx, node.OperationFilter{Node: nodeUUID, Limit: 1})
	require.NoError(t, err)
	a := args{"id": all[0].ID}
	addDecided(a, &all[0])
	_, err = s.exec(ctx, "decide", "UPDATE operations o SET "+decided+" WHERE o.id = @id", a)
	require.NoError(t, err)
}

// AuditStatement returns the statement that AuditEntries runs.
func AuditStatement(f audit.Filter) []Statement {
	q := auditQuery(f)
	return []Statement{{auditSQL + q.String(), q.args}}
}
