package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// needy is a database with conductors that cover everything, and what needs a person in it.
type needy struct {
	t   testing.TB
	s   *store.Store
	url string
}

func (n *needy) now() map[string]node.Reason {
	n.t.Helper()
	all, err := n.s.Attention(n.t.Context(), node.AttentionFilter{})
	require.NoError(n.t, err)
	out := map[string]node.Reason{}
	for _, a := range all {
		require.Empty(n.t, out[a.NodeName], "%s is there twice", a.NodeName)
		out[a.NodeName] = a.Reason
	}
	return out
}

// failedOnce gives the node an operation that has failed of the cause.
func (n *needy) failedOnce(on *node.Node, kind node.OperationKind, cause fault.Code) {
	raw(n.t, n.url, `INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, ended_at, error, cause, origin, conductor_group, driver)
		SELECT id, uuid, name, $2, 'ended', 'failed', now(), 'no disk', $3, 'available', conductor_group, driver FROM nodes WHERE uuid = $1`, on.UUID, kind, cause)
}

func (n *needy) open(on *node.Node, phase node.Phase) {
	raw(n.t, n.url, `INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, begun_at, run_id, error, cause, origin, conductor_group, driver)
		SELECT id, uuid, name, 'deploy', $2, now(), 'r', 'no disk', 'bmc_silent', 'available', conductor_group, driver FROM nodes WHERE uuid = $1`, on.UUID, phase)
}

// Each reason is found, each node once and for its worst reason, and what somebody looks after is not.
func TestWhatNeedsAPersonIsFound(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, ConductorTimeout: time.Hour})
	conductorOf(t, s, "c1")
	n := &needy{t, s, url}
	require.Empty(t, n.now())
	fine := create(t, s, node.Available)
	want := map[string]node.Reason{}

	held := create(t, s, node.DeployHold)
	n.open(held, node.Holding)
	want[held.Name] = node.ReasonHeld
	for _, state := range node.States() {
		if !node.Fails(state) && state != node.ErrorState {
			continue
		}
		failed := create(t, s, state)
		n.failedOnce(failed, node.KindDeploy, fault.BMCSilent)
		n.failedOnce(failed, node.KindDeploy, fault.CredentialsDenied)
		want[failed.Name] = node.ReasonFailed
	}
	sick, warned := create(t, s, node.Active), create(t, s, node.Active)
	raw(t, url, `INSERT INTO node_health (node_id, status, reasons, since, read_at)
		SELECT id, 'critical', '[{"kind": "fan", "name": "Fan 1", "severity": "critical", "message": "it stands still"}]', now(), now() FROM nodes WHERE uuid = $1`, sick.UUID)
	raw(t, url, `INSERT INTO node_health (node_id, status, since, read_at) SELECT id, 'warning', now(), now() FROM nodes WHERE uuid = $1`, warned.UUID)
	want[sick.Name] = node.ReasonUnhealthy
	unverified := create(t, s, node.Enroll)
	raw(t, url, `UPDATE nodes SET last_error = 'no answer' WHERE uuid = $1`, unverified.UUID)
	want[unverified.Name] = node.ReasonFailed
	late := create(t, s, node.DeployWait)
	n.open(late, node.Waiting)
	raw(t, url, `UPDATE operations SET error = NULL, cause = NULL, waiting_for = 'the agent', waiting_until = now() - interval '1 minute' WHERE node_uuid = $1`, late.UUID)
	store.Decide(t.Context(), t, s, late.UUID)
	want[late.Name] = node.ReasonLate
	owed := create(t, s, node.Available)
	raw(t, url, `UPDATE nodes SET owed = '["power off"]', owed_refused = true WHERE uuid = $1`, owed.UUID)
	want[owed.Name] = node.ReasonOwed
	faulty := create(t, s, node.Active)
	raw(t, url, `UPDATE nodes SET fault = 'power failure', maintenance = true, maintenance_by_fault = true WHERE uuid = $1`, faulty.UUID)
	want[faulty.Name] = node.ReasonFault
	switched := create(t, s, node.Active)
	n.failedOnce(switched, node.KindPower, fault.BMCSilent)
	want[switched.Name] = node.ReasonPower
	uncovered := create(t, s, node.Available)
	raw(t, url, `UPDATE nodes SET conductor_group = 'nowhere' WHERE uuid = $1`, uncovered.UUID)
	want[uncovered.Name] = node.ReasonQuarantined
	require.Equal(t, want, n.now())
	require.NotContains(t, n.now(), fine.Name)

	all, err := s.Attention(t.Context(), node.AttentionFilter{})
	require.NoError(t, err)
	var reasons []node.Reason
	for _, a := range all {
		require.Equal(t, a.Reason, node.Reasons[a.Rank-1])
		reasons = append(reasons, a.Reason)
		if node.Fails(a.ProvisionState) {
			require.Equal(t, fault.CredentialsDenied, a.Cause, "that of the newest")
		}
	}
	require.Equal(t, node.Reasons, slices.Compact(reasons), "the worst first")

	var pages []node.Attention
	for f := (node.AttentionFilter{Limit: 2}); ; {
		page, err := s.Attention(t.Context(), f)
		require.NoError(t, err)
		pages = append(pages, page...)
		if len(page) < f.Limit {
			break
		}
		last := page[len(page)-1]
		f.AfterRank, f.AfterNode = last.Rank, last.ID
	}
	require.Equal(t, all, pages)
	groups, err := s.AttentionGroups(t.Context(), node.AttentionFilter{})
	require.NoError(t, err)
	counted := 0
	for _, g := range groups {
		counted += g.Nodes
	}
	require.Equal(t, len(all), counted)
	var paged []node.AttentionGroup
	for f := (node.AttentionFilter{Limit: 1}); ; {
		page, err := s.AttentionGroups(t.Context(), f)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		f.AfterRank, f.AfterCount, f.AfterCause = page[0].Rank, page[0].Nodes, page[0].Cause
	}
	require.Equal(t, groups, paged)
	some, err := s.Attention(t.Context(), node.AttentionFilter{Nodes: []string{held.UUID, fine.UUID}, Cause: fault.BMCSilent})
	require.NoError(t, err)
	require.Len(t, some, 1)

	raw(t, url, `UPDATE nodes SET maintenance = true, maintenance_by_fault = false`)
	require.Empty(t, n.now(), "somebody looks after them")
}

// Without Temporal nothing goes on, so that nothing becomes late. What was late before stays late.
func TestWhatWasLateStaysLateWithoutTemporal(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, ConductorTimeout: 15 * time.Second})
	conductorOf(t, s, "c1")
	n := &needy{t, s, url}
	waits := func(until string) *node.Node {
		waiting := create(t, s, node.DeployWait)
		n.open(waiting, node.Waiting)
		raw(t, url, `UPDATE operations SET error = NULL, cause = NULL, waiting_for = 'the agent', waiting_until = now() - $2::text::interval WHERE node_uuid = $1`, waiting.UUID, until)
		store.Decide(t.Context(), t, s, waiting.UUID)
		return waiting
	}
	before, meanwhile := waits("20 minutes"), waits("5 minutes")
	unusual := create(t, s, node.Deploying)
	n.open(unusual, node.Running)
	raw(t, url, `UPDATE operations SET error = NULL, cause = NULL, usual_until = now() - interval '20 minutes' WHERE node_uuid = $1`, unusual.UUID)
	store.Decide(t.Context(), t, s, unusual.UUID)
	late := func() (names []string) {
		for name, why := range n.now() {
			if why == node.ReasonLate {
				names = append(names, name)
			}
		}
		return names
	}
	require.ElementsMatch(t, []string{before.Name, meanwhile.Name, unusual.Name}, late(), "nobody has ever reached Temporal")
	raw(t, url, `UPDATE witness SET contact_at = clock_timestamp()`)
	require.ElementsMatch(t, []string{before.Name, meanwhile.Name, unusual.Name}, late())
	raw(t, url, `UPDATE witness SET contact_at = clock_timestamp() - interval '10 minutes'`)
	require.ElementsMatch(t, []string{before.Name, unusual.Name}, late())
}

func conductorOf(t *testing.T, s *store.Store, name string) {
	t.Helper()
	_, err := s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}}})
	require.NoError(t, err)
}

// Of 100,000 nodes it reads those that need a person.
func TestWhatNeedsAPersonReadsNotAllNodes(t *testing.T) {
	t.Parallel()
	s, url := seeded(t)
	raw(t, url, `INSERT INTO operations (node_id, node_uuid, kind, phase, error, cause, origin, conductor_group, driver)
		SELECT id, uuid, 'deploy', 'holding', 'no disk', 'bmc_silent', 'available', conductor_group, driver FROM nodes WHERE id % 1000 = 1`)
	raw(t, url, `ANALYZE operations`)
	for name, st := range store.AttentionStatements() {
		scans := explain(t, url, s, []store.Statement{st})
		require.NotEmpty(t, scans, name)
		for _, on := range []string{"nodes", "operations"} {
			require.NotContains(t, scans, "Seq Scan on "+on, "%s: %v", name, scans)
		}
	}
}

// If all of 100,000 nodes are in quarantine, a page takes as many of each need as it has room for from the index nodes_by_need, and a group
// takes the names it shows.
func TestNodesInQuarantineAreNotReadOneByOne(t *testing.T) {
	t.Parallel()
	s, url := seeded(t)
	raw(t, url, `UPDATE conductors SET stopped_at = now()`)
	_, err := s.AddUpNodeCounts(t.Context())
	require.NoError(t, err)
	raw(t, url, `ANALYZE conductors, needs, node_counts`)
	for name, st := range store.AttentionStatements() {
		scans := explain(t, url, s, []store.Statement{st})
		require.NotContains(t, scans, "Seq Scan on nodes", "%s: %v", name, scans)
		if slices.Contains([]string{"all", "a later page", "in quarantine", "of a driver", "groups, all"}, name) {
			require.Contains(t, store.Explain(t.Context(), t, s, st), `"nodes_by_need"`, name)
		}
	}
	groups, err := s.AttentionGroups(t.Context(), node.AttentionFilter{ResourceClass: "tin"})
	require.NoError(t, err)
	last := groups[len(groups)-1]
	require.Equal(t, node.ReasonQuarantined, last.Reason)
	require.Equal(t, ask[int](t, url, `WITH `+store.TroubleSQL+` SELECT count(*) FROM nodes WHERE resource_class = 'tin' AND id NOT IN (SELECT node_id FROM in_trouble)`,
		store.TroubleArgs(time.Hour)), last.Nodes)
}

// A silent BMC needs a person since it is silent, not since its operation was late, and so does an agent that has not called.
func TestSilenceNeedsAPersonSinceItBegan(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, ConductorTimeout: time.Hour})
	conductorOf(t, s, "c1")
	n := &needy{t, s, url}
	for name, wait := range map[string]string{
		"silent": `{"for": "bmc_answer", "since": "2026-01-02T03:00:00Z", "unread": "no answer", "unread_since": "2026-01-02T03:04:05Z", "late_at": "2026-01-02T03:06:05Z", "late_cause": "bmc_silent"}`,
		"hangs":  `{"for": "agent_command", "since": "2026-01-02T03:00:00Z", "unread": "no answer", "unread_since": "2026-01-02T03:04:05Z", "late_at": "2026-01-02T03:06:05Z", "late_cause": "image_server_slow"}`,
		"absent": `{"for": "agent_call", "since": "2026-01-02T03:04:05Z", "late_at": "2026-01-02T03:14:05Z", "late_cause": "agent_never_called"}`,
	} {
		on := create(t, s, node.DeployWait)
		n.open(on, node.Waiting)
		raw(t, url, `UPDATE operations SET error = NULL, cause = NULL, waiting_for = 'x', step_wait = $2,
			steps = '[{"interface": "deploy", "step": "deploy", "state": "running"}]' WHERE node_uuid = $1`, on.UUID, wait)
		store.Decide(t.Context(), t, s, on.UUID)
		all, err := s.Attention(t.Context(), node.AttentionFilter{Nodes: []string{on.UUID}})
		require.NoError(t, err)
		require.Len(t, all, 1, name)
		require.Equal(t, node.ReasonLate, all[0].Reason)
		require.Equal(t, "2026-01-02T03:04:05Z", all[0].Since.UTC().Format(time.RFC3339), name)
		cause := map[string]fault.Code{"silent": fault.BMCSilent, "hangs": fault.AgentSilent, "absent": fault.AgentNeverCalled}[name]
		require.Equal(t, cause, all[0].Cause, "%s: the fleet is told the cause that the node is (node.Operation.LateCause)", name)
	}
}
