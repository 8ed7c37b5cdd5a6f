package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// needyRow is a node that needs a person, with what filters compare.
type needyRow struct {
	id                         int64
	uuid, class, driver, group string
	state                      node.State
	rank                       int
	reason                     node.Reason
	cause                      fault.Code
	since                      *time.Time
}

func (r *needyRow) fits(f node.AttentionFilter) bool {
	return (f.Nodes == nil || slices.Contains(f.Nodes, r.uuid)) && (f.Reason == "" || f.Reason == r.reason) && (f.Cause == "" || f.Cause == r.cause) &&
		(f.ConductorGroup == nil || *f.ConductorGroup == r.group) && (f.Driver == "" || f.Driver == r.driver) &&
		(f.ResourceClass == "" || f.ResourceClass == r.class) && (f.State == "" || f.State == r.state)
}

// needyRowsSQL looks at each node, and knows nothing of pages or counts.
const needyRowsSQL = `
WITH ` + store.TroubleSQL + `
SELECT n.id, n.uuid::text, coalesce(n.resource_class, ''), n.driver, n.conductor_group, n.provision_state, coalesce(t.rank, 8), coalesce(t.reason, 'quarantined'),
	CASE WHEN t.node_id IS NULL THEN 'no_conductor' ELSE coalesce(t.cause,
		(SELECT (array_agg(o.cause ORDER BY o.id DESC))[1] FROM operations o WHERE o.node_id = n.id AND o.cause IS NOT NULL), '') END,
	CASE WHEN t.node_id IS NULL THEN v.since ELSE t.since END
  FROM nodes n JOIN coverage(@timeout) v ON v.id = n.need_id LEFT JOIN in_trouble t ON t.node_id = n.id
 WHERE (t.node_id IS NOT NULL OR v.quarantined) AND (NOT n.maintenance OR n.maintenance_by_fault)`

func needyRows(t testing.TB, url string) []needyRow {
	t.Helper()
	rows, err := beside(t, url).Query(t.Context(), needyRowsSQL, store.TroubleArgs(time.Hour))
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (n needyRow, err error) {
		err = r.Scan(&n.id, &n.uuid, &n.class, &n.driver, &n.group, &n.state, &n.rank, &n.reason, &n.cause, &n.since)
		if n.since != nil {
			n.since = ptr(n.since.UTC())
		}
		return n, err
	})
	require.NoError(t, err)
	slices.SortFunc(out, func(a, b needyRow) int { return cmp.Or(a.rank-b.rank, cmp.Compare(a.id, b.id)) })
	return out
}

// groupsOf counts rows as AttentionGroups does.
func groupsOf(rows []needyRow) (out []node.AttentionGroup) {
	at := map[string]int{}
	for _, r := range rows {
		key := fmt.Sprint(r.rank, r.cause)
		i, there := at[key]
		if !there {
			i, at[key] = len(out), len(out)
			out = append(out, node.AttentionGroup{Rank: r.rank, Reason: r.reason, Cause: r.cause})
		}
		g := &out[i]
		g.Nodes++
		if r.since != nil && (g.Since == nil || r.since.Before(*g.Since)) {
			g.Since = r.since
		}
	}
	slices.SortFunc(out, func(a, b node.AttentionGroup) int {
		return cmp.Or(a.Rank-b.Rank, b.Nodes-a.Nodes, cmp.Compare(a.Cause, b.Cause))
	})
	return out
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// changeNeedy changes a node, in one of the ways that decide whether it needs a person, or why.
func changeNeedy(t testing.TB, url string, r *rand.Rand, id int64) {
	t.Helper()
	operation := func(rest string, more ...any) {
		raw(t, url, `INSERT INTO operations (node_id, node_uuid, kind, origin, conductor_group, driver, error, cause, phase, outcome, ended_at)
			SELECT id, uuid, kind, 'available', conductor_group, driver, error, cause, phase, outcome, ended_at FROM nodes, (`+rest+`)
				AS o (kind, error, cause, phase, outcome, ended_at) WHERE id = $1 ON CONFLICT DO NOTHING`, append([]any{id}, more...)...)
	}
	switch r.IntN(10) {
	case 0, 1:
		raw(t, url, `UPDATE nodes SET provision_state = $2, last_error = $3 WHERE id = $1`, id,
			one(r, "available", "active", "deploy failed", "clean failed", "enroll", "error"), one(r, nil, ptr("no answer")))
	case 2:
		raw(t, url, `UPDATE nodes SET driver = $2, interfaces = $3 WHERE id = $1`, id, one(r, "fake-hardware", "redfish"), one(r, `{"power": "fake"}`, `{"power": "other"}`))
	case 3:
		raw(t, url, `UPDATE nodes SET conductor_group = $2 WHERE id = $1`, id, one(r, "", "rack-1"))
	case 4:
		raw(t, url, `UPDATE nodes SET resource_class = $2 WHERE id = $1`, id, one(r, nil, ptr("gold"), ptr("tin")))
	case 5:
		by := one(r, false, true)
		raw(t, url, `UPDATE nodes SET maintenance = $2, maintenance_by_fault = $3, fault = $4 WHERE id = $1`, id, by || one(r, false, true), by, one(r, nil, ptr("power failure")))
	case 6:
		raw(t, url, `UPDATE nodes SET owed = '["power off"]', owed_refused = $2 WHERE id = $1`, id, one(r, false, true))
	case 7:
		operation(`VALUES ($2::text, 'it failed', $3::text, 'ended', 'failed', clock_timestamp())`, one(r, "power", "deploy"), one(r, "bmc_silent", "credentials_denied", "no_conductor"))
	case 8:
		operation(`VALUES ('deploy', 'it failed', $2::text, 'holding', NULL, NULL::timestamptz)`, one(r, "bmc_silent", "agent_failed"))
	case 9:
		raw(t, url, `INSERT INTO node_health (node_id, status, since, read_at) SELECT id, $2, now(), now() FROM nodes WHERE id = $1 ON CONFLICT (node_id) DO UPDATE SET status = EXCLUDED.status`,
			id, one(r, "ok", "critical"))
	}
}

// Pages put together are all nodes that need a person, in their order, each once, and the groups count them: for any fleet, filter and size of the page.
func TestPagesAndGroupsAreWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	const nodes, changes = 60, 150
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // a test's dice
	r := rand.New(rand.NewPCG(seed, 3))   //nolint:gosec // a test's dice
	t.Log("seed", seed)
	_, url := openURL(t)
	s := connect(t, store.Config{URL: url, Keyset: keyset, ConductorTimeout: time.Hour})
	conductorOf(t, s, "c1")
	raw(t, url, `INSERT INTO nodes (uuid, name, driver, interfaces, provision_state)
		SELECT gen_random_uuid(), 'p' || i, 'fake-hardware', '{"power": "fake"}', 'available' FROM generate_series(1, $1) i`, nodes)
	for round := range 4 {
		for range changes {
			changeNeedy(t, url, r, 1+r.Int64N(nodes))
		}
		if round == 2 {
			raw(t, url, `UPDATE operations SET phase = 'ended', outcome = 'failed', ended_at = now() WHERE ended_at IS NULL AND node_id % 7 = 0`)
			raw(t, url, `DELETE FROM nodes WHERE id % 7 = 0`)
		}
		requireCounted(t, s, url)
		all := needyRows(t, url)
		require.NotEmpty(t, all)
		for range 25 {
			requirePaged(t, s, all, anyFilter(r, all))
		}
	}
}

func anyFilter(r *rand.Rand, all []needyRow) (f node.AttentionFilter) {
	maybe := func() bool { return r.IntN(4) == 0 }
	f.Limit = 1 + r.IntN(len(all)+1)
	if maybe() {
		f.Reason = one(r, node.Reasons...)
	}
	if maybe() {
		f.Cause = one(r, fault.BMCSilent, fault.NoConductor, fault.CredentialsDenied)
	}
	if maybe() {
		f.Driver = one(r, "fake-hardware", "redfish")
	}
	if maybe() {
		f.ConductorGroup = ptr(one(r, "", "rack-1"))
	}
	if maybe() {
		f.ResourceClass = one(r, "gold", "tin", "lead")
	}
	if maybe() {
		f.State = one(r, node.Available, node.DeployFailed, node.Enroll)
	}
	if maybe() {
		f.Nodes = []string{all[0].uuid, one(r, all...).uuid, one(r, all...).uuid, one(r, all...).uuid}
	}
	return f
}

func requirePaged(t testing.TB, s *store.Store, all []needyRow, f node.AttentionFilter) {
	t.Helper()
	var want []needyRow
	for _, n := range all {
		if n.fits(f) {
			want = append(want, n)
		}
	}
	what := fmt.Sprintf("%+v", f)
	i := 0
	for p := f; ; {
		page, err := s.Attention(t.Context(), p)
		require.NoError(t, err, what)
		for _, a := range page {
			require.Less(t, i, len(want), "%s: one too many: %+v", what, a)
			w := want[i]
			require.Equal(t, []any{w.uuid, w.id, w.rank, w.reason, w.cause, w.state}, []any{a.NodeUUID, a.ID, a.Rank, a.Reason, a.Cause, a.ProvisionState}, what)
			require.Equal(t, w.since, a.Since, what)
			i++
		}
		if len(page) < f.Limit {
			break
		}
		p.AfterRank, p.AfterNode = page[len(page)-1].Rank, page[len(page)-1].ID
	}
	require.Equal(t, len(want), i, what)

	i = 0
	groups := groupsOf(want)
	for p := f; ; {
		page, err := s.AttentionGroups(t.Context(), p)
		require.NoError(t, err, what)
		for _, g := range page {
			require.Less(t, i, len(groups), what)
			require.Len(t, g.Names, min(g.Nodes, 5), what)
			g.Names = nil
			require.Equal(t, groups[i], g, what)
			i++
		}
		if len(page) < f.Limit {
			break
		}
		last := page[len(page)-1]
		p.AfterRank, p.AfterCount, p.AfterCause = last.Rank, last.Nodes, last.Cause
	}
	require.Equal(t, len(groups), i, what)
}

// requireCounted fails unless node_counts has the numbers of the nodes there are, before its rows are added up and after.
func requireCounted(t testing.TB, s *store.Store, url string) {
	t.Helper()
	const wrong = `SELECT count(*) FROM (
		SELECT need_id, coalesce(resource_class, '') AS resource_class, provision_state, maintenance AND NOT maintenance_by_fault AS looked_after, count(*) AS nodes FROM nodes GROUP BY 1, 2, 3, 4) n
		FULL JOIN (SELECT need_id, resource_class, provision_state, looked_after, sum(nodes) AS nodes FROM node_counts GROUP BY 1, 2, 3, 4) c
		USING (need_id, resource_class, provision_state, looked_after) WHERE coalesce(n.nodes, 0) <> coalesce(c.nodes, 0)`
	require.Zero(t, ask[int](t, url, wrong))
	rows, err := s.AddUpNodeCounts(t.Context())
	require.NoError(t, err)
	require.Positive(t, rows)
	require.Zero(t, ask[int](t, url, wrong))
	require.Zero(t, ask[int](t, url, `SELECT count(*) FROM node_counts WHERE nodes <= 0`))
	rows, err = s.AddUpNodeCounts(t.Context())
	require.NoError(t, err)
	require.Zero(t, rows, "each kind of nodes has one row")
}
