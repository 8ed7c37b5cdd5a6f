package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
	"go.temper.dev/temper/internal/store"
)

// leaseEnds makes the lease of a service end.
func leaseEnds(t testing.TB, url, host string) {
	t.Helper()
	raw(t, url, `UPDATE compute_services SET lease_until = clock_timestamp(), quiet_until = NULL WHERE name = $1`, host)
}

// An epoch is computed for which a service is dead, and the service renews its lease before the
// epoch is written. It must not lose nodes, because it may show them again.
func TestRow22AServiceThatWakesUpInTimeStopsTheEpochWithoutIt(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	create(t, s, node.Available)
	serviceBeats(t, s, share.Heartbeat{Host: "a", Incarnation: 1})
	leaseEnds(t, url, "a")
	decisions := 0
	_, err := s.PublishShares(t.Context(), 0, func(st share.State) []share.Row {
		if decisions++; decisions == 1 {
			require.False(t, st.Services[0].Live)
			raw(t, url, `UPDATE compute_services SET lease_until = clock_timestamp() + interval '10 seconds'`)
		}
		return share.Decide(st)
	})
	require.NoError(t, err)
	require.Equal(t, 2, decisions, "it was decided anew")
	require.Equal(t, int64(1), ask[int64](t, url, `SELECT count(*) FROM shares WHERE owner_id IS NOT NULL`))
}

// A node that is claimed while an epoch is computed stays with the service that claimed it.
func TestRow10AClaimDuringAnEpochIsKept(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	n := create(t, s, node.Available)
	raw(t, url, `UPDATE nodes SET power_state = 'power off'`)
	serviceBeats(t, s, share.Heartbeat{Host: "a", Incarnation: 1})
	key := ""
	_, _, revision, err := s.ComputeHeartbeat(t.Context(), share.Heartbeat{Host: "b", Incarnation: 1, Key: &key})
	require.NoError(t, err)
	_, err = s.PublishShares(t.Context(), revision, func(st share.State) []share.Row {
		rows := share.Decide(st)
		require.NotEmpty(t, rows, "the node is to leave a")
		_, err := s.ClaimNode(t.Context(), n.UUID, "admin", share.Claimer{Service: "a"}, func(n *node.Node) (node.Secrets, error) {
			n.InstanceUUID = uuid.NewString()
			return nil, nil
		})
		require.NoError(t, err)
		return rows
	})
	require.NoError(t, err)
	require.Equal(t, "a", ask[string](t, url, `SELECT v.host FROM shares s JOIN compute_services v ON v.id = s.owner_id`))
	stale, err := s.SharesStale(t.Context())
	require.NoError(t, err)
	require.True(t, stale, "the next epoch takes note")
}

func TestRow13TheDeadAreCounted(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	serviceBeats(t, s, share.Heartbeat{Host: "a", Incarnation: 1})
	serviceBeats(t, s, share.Heartbeat{Host: "b", Incarnation: 1})
	leaseEnds(t, url, "a")
	stale, err := s.SharesStale(t.Context())
	require.NoError(t, err)
	require.True(t, stale)
	p, err := s.PublishShares(t.Context(), 0, share.Decide)
	require.NoError(t, err)
	require.Equal(t, 1, p.Expired)
}

func TestOrphansAreThoseWhoseTimeIsOverOrWhoseServiceConfirms(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	serviceBeats(t, s, share.Heartbeat{Host: "a", Incarnation: 1})
	at := map[string]string{} // instance: node
	var instances []string
	for range 5 {
		n := create(t, s, node.Available)
		raw(t, url, `UPDATE nodes SET power_state = 'power off' WHERE uuid = $1`, n.UUID)
		_, err := s.PublishShares(t.Context(), 0, share.Decide)
		require.NoError(t, err)
		instance := uuid.NewString()
		_, err = s.ClaimNode(t.Context(), n.UUID, "admin", share.Claimer{Service: "a"}, func(n *node.Node) (node.Secrets, error) {
			n.InstanceUUID = instance
			return nil, nil
		})
		require.NoError(t, err)
		at[instance], instances = n.UUID, append(instances, instance)
	}
	for _, i := range instances[1:] {
		require.NoError(t, s.MarkAbsent(t.Context(), i))
	}
	raw(t, url, `UPDATE instances SET absent_since = now() - interval '1 hour' WHERE uuid = $1`, instances[2])
	require.NoError(t, s.ConfirmAbsent(t.Context(), "a", []string{instances[0], instances[3]}))
	require.NoError(t, s.ConfirmAbsent(t.Context(), "b", []string{instances[1]}), "whose they are not, nothing is confirmed")
	raw(t, url, `UPDATE instances SET absent_since = now() - interval '2 hours' WHERE uuid = $1`, instances[4])
	raw(t, url, `UPDATE nodes SET maintenance = true WHERE uuid = $1`, at[instances[4]])
	orphans, err := s.Orphans(t.Context(), 30*time.Minute, 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []share.Orphan{
		{Instance: instances[2], Node: at[instances[2]]}, {Instance: instances[3], Node: at[instances[3]]},
	}, orphans, "and what an operator works on is left alone")

	raw(t, url, `UPDATE nodes SET instance_uuid = NULL WHERE uuid = $1`, at[instances[2]])
	require.NoError(t, s.SweepInstances(t.Context()))
	require.Equal(t, int64(4), ask[int64](t, url, `SELECT count(*) FROM instances`))
}

// BenchmarkShares measures what reconciliation does for the shares of 100,000 nodes and
// 50 services: nothing changed, one service died, and the first epoch.
func BenchmarkShares(b *testing.B) {
	benchStore(b)
	url := benchURL
	s := connect(b, store.Config{URL: url, Keyset: keyset, MaxConns: 8, StatementTimeout: time.Minute})
	raw(b, url, `INSERT INTO nodes (uuid, driver, provision_state, power_state, conductor_group)
		SELECT gen_random_uuid(), 'fake-hardware', 'available', 'power off', 'g' || i % 5 FROM generate_series(1, 100000) i`)
	raw(b, url, `ANALYZE`)
	for i := range 50 {
		_, _, _, err := s.ComputeHeartbeat(b.Context(), share.Heartbeat{Host: fmt.Sprintf("compute-%02d", i), Incarnation: 1})
		require.NoError(b, err)
	}
	raw(b, url, `UPDATE compute_services SET lease_until = clock_timestamp() + interval '15 seconds'`)
	timed := func(name string, what func()) {
		began := time.Now()
		what()
		b.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
	}
	publish := func() {
		p, err := s.PublishShares(b.Context(), 0, share.Decide)
		require.NoError(b, err)
		b.Logf("epoch %d: %d rows", p.Epoch, p.Moved)
	}
	keep := func() {
		raw(b, url, `UPDATE compute_services SET lease_until = clock_timestamp() + interval '15 seconds' WHERE host <> 'compute-07'`)
	}
	timed("first", publish)
	raw(b, url, `ANALYZE`)
	keep()
	timed("steady", func() { _, err := s.SharesStale(b.Context()); require.NoError(b, err) })
	keep()
	leaseEnds(b, url, "compute-07")
	timed("death", publish)
	keep()
	timed("page", func() { _, err := s.SharePage(b.Context(), "compute-08", 0, "", 10000); require.NoError(b, err) })
	timed("overview", func() { _, err := s.ShareOverview(b.Context()); require.NoError(b, err) })
	for b.Loop() {
		keep()
		_, err := s.SharesStale(b.Context())
		require.NoError(b, err)
	}
}
