package system_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// inTheMiddle stops reconciliations in their middle, when they have read which conductors are alive and are about to read the
// nodes, until goOn is called. provoke gives the reconciliation something to do.
func (s *stack) inTheMiddle(t *testing.T, db *pgx.Conn, user string, provoke func()) (goOn func()) {
	t.Helper()
	lock := s.database(t)
	_, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE ring_owners IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	provoke()
	require.Eventually(t, func() bool {
		return value[int](t, db, `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'temper orchestrator' AND wait_event_type = 'Lock' AND query LIKE '%ring_owners%' AND ($1 = '' OR usename = $1)`, user) > 0
	}, patience, 5*time.Millisecond, "no reconciliation is in its middle")
	return func() {
		t.Helper()
		_, err := lock.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, err)
	}
}

// decided is what reconciliation has decided.
type decided struct {
	epoch       int64
	members     string
	quarantines int
}

func whatIsDecided(t *testing.T, db *pgx.Conn) decided {
	t.Helper()
	return decided{
		epoch: value[int64](t, db, `SELECT epoch FROM ring_epoch`),
		members: value[string](t, db, `SELECT coalesce(string_agg(c.hostname, ' ' ORDER BY c.hostname), '')
			FROM ring_epoch e JOIN conductors c ON c.id = ANY(e.members)`),
		quarantines: value[int](t, db, `SELECT count(*) FROM quarantines`),
	}
}

// stops stops a process with all that it has started, until the function that it returns is called.
func (s *stack) stops(t *testing.T, name string) (goOn func()) {
	t.Helper()
	goOn, err := s.Freeze(name)
	require.NoError(t, err)
	t.Cleanup(goOn)
	return goOn
}

// nobodyIsMissed checks for so long, and at least 20 times, that no conductor counts as dead and that all these nodes are offered.
func (s *stack) nobodyIsMissed(t *testing.T, within time.Duration, group string, nodes ...*node) {
	t.Helper()
	asked := 0
	tick := time.Tick(50 * time.Millisecond) // whoever counts as dead does so for longer
	for end := time.Now().Add(within); time.Now().Before(end) || asked < 20; asked++ {
		states, err := s.states(group)
		require.NoError(t, err)
		for name, state := range states {
			require.Equal(t, "alive", state, "%s, at question %d", name, asked)
		}
		require.NoError(t, s.offers(group, nodes...), "at question %d", asked)
		<-tick
	}
}

// clock gives the program's sessions in PostgreSQL a clock that can be set to an offset from the true time.
func (s *stack) clock(t *testing.T, db *pgx.Conn) (set func(by string)) {
	t.Helper()
	run := func(sql string, args ...any) {
		_, err := db.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	run(`CREATE TABLE public.stepped AS SELECT interval '0' AS by`)
	for _, name := range []string{"clock_timestamp", "now"} { // found before those of pg_catalog by sessions that begin from now on
		run(`CREATE FUNCTION public.` + name + `() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.` + name + `() + by FROM public.stepped'`)
	}
	run(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$`)
	run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`)
	s.awaitReady(t)
	return func(by string) { run(`UPDATE public.stepped SET by = $1::interval`, by) }
}

// If PostgreSQL is away for a minute in the middle of a reconciliation, or its clock jumps, no conductor expires, no node
// moves, and none is quarantined.
func TestAGapExpiresNobody(t *testing.T) {
	t.Parallel()
	s := own(t, 4)
	db := s.database(t)
	const group = "gap"
	s.conductor(t, group, "gap-1")
	nodes := []*node{in(t, s, group), in(t, s, group)}
	require.NoError(t, s.offers(group, nodes...))
	ticks(t, db, 1)
	before := whatIsDecided(t, db)
	require.Equal(t, "conductor-1 conductor-2 gap-1", before.members)

	goOn := s.inTheMiddle(t, db, "", func() { s.conductor(t, group, "gap-2") })
	wake := s.stops(t, "postgres")
	away, tick := time.Now(), time.Tick(look)
	for ; time.Since(away) < time.Minute; <-tick {
		a, err := s.ask(http.MethodGet, "/v1/nodes/"+nodes[0].uuid, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.Status, "%s", a.Words())
	}
	wake()
	goOn()
	eventually(t, patience, func() error { return s.read("/v1/nodes/"+nodes[0].uuid, &shown{}) })
	s.nobodyIsMissed(t, timeout, group, nodes...)
	eventually(t, patience, func() error { return s.covers(group, "gap-1", "gap-2") })
	ticks(t, db, 1)
	after := whatIsDecided(t, db)
	require.Equal(t, decided{epoch: before.epoch + 1, members: "conductor-1 conductor-2 gap-1 gap-2"}, after, "one came, and nothing else happened")

	step := s.clock(t, db)
	s.nobodyIsMissed(t, 2*time.Second, group, nodes...)
	for _, by := range []string{"1 hour", "-1 hour"} {
		step(by)
		s.nobodyIsMissed(t, 8*time.Second, group, nodes...)
		ticks(t, db, 1)
		require.Equal(t, after, whatIsDecided(t, db), "the clock by %s", by)
	}
	log, err := os.ReadFile(s.Log("orchestrator"))
	require.NoError(t, err)
	require.NotContains(t, string(log), `"a conductor left the ring"`)
	for _, n := range nodes {
		require.Error(t, n.told("quarantined"))
		n.deployed(n.provision("active", nil), digest(t, s.rack))
	}
}
