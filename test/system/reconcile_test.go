package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/workflows"
)

// asUser returns a setting with which a process logs in to PostgreSQL as a user of its own, which identifies its sessions.
func (s *stack) asUser(t *testing.T, db *pgx.Conn, user string) string {
	t.Helper()
	u, err := url.Parse(s.DatabaseURL)
	require.NoError(t, err)
	word, _ := u.User.Password()
	_, err = db.Exec(t.Context(), fmt.Sprintf(`CREATE ROLE %s LOGIN SUPERUSER PASSWORD '%s'`, user, word))
	require.NoError(t, err)
	u.User = url.UserPassword(user, word)
	return "TEMPER_DATABASE_URL=" + u.String()
}

// reconcile has so many reconciliations run at once, beside the schedule's, and gives what waits for their end.
func (s *stack) reconcile(t *testing.T, name string, count int) (over func()) {
	t.Helper()
	c := s.temporal(t)
	var runs []client.WorkflowRun
	for i := range count {
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: fmt.Sprintf("%s-%d", name, i), TaskQueue: workflows.OrchestratorQueue, WorkflowExecutionTimeout: patience,
		}, workflows.ReconcileType)
		require.NoError(t, err)
		runs = append(runs, run)
	}
	return func() {
		t.Helper()
		for _, run := range runs {
			require.NoError(t, run.Get(t.Context(), nil), run.GetID())
		}
	}
}

// stored checks the members of the newest epoch, and that they own all nodes.
func stored(t *testing.T, db *pgx.Conn, members string) error {
	t.Helper()
	if have := whatIsDecided(t, db).members; have != members {
		return fmt.Errorf("the members are %s, not %s", have, members)
	}
	if n := value[int](t, db, `SELECT count(*) FROM ring_owners w, ring_epoch e WHERE w.conductor_id <> ALL (e.members)`); n > 0 {
		return fmt.Errorf("%d nodes are owned by nobody of it", n)
	}
	return nil
}

// Many reconciliations may run at the same time, and one that was frozen in its middle may continue: the newest epoch stays. If
// neither an orchestrator nor a conductor runs, all that needs no hardware still works, and agents that boot are not lost.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	s := own(t, 6) // killed processes are not restarted
	db := s.database(t)
	s.killAll(t, "orchestrator")
	first := s.role(t, "orchestrator", "orchestrator-1", []string{s.asUser(t, db, "first")})
	s.role(t, "orchestrator", "orchestrator-2", []string{s.asUser(t, db, "second")})
	const group = "ring"
	conductors := map[string]*dev.Running{}
	begin := func(name string) { conductors[name] = s.conductor(t, group, name) }
	leave := func(name string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, conductors[name].Stop(ctx))
	}
	begin("ring-1")
	nodes := []*node{in(t, s, group), in(t, s, group), in(t, s, group)}
	eventually(t, patience, func() error { return stored(t, db, "conductor-1 conductor-2 ring-1") })

	// Two overlap.
	var over func()
	goOn := s.inTheMiddle(t, db, "first", func() {
		begin("ring-2")
		over = s.reconcile(t, "overlap", 8)
	})
	require.Eventually(t, func() bool {
		return value[int](t, db, `SELECT count(DISTINCT usename) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ring_owners%'
			AND application_name = 'temper orchestrator'`) == 2
	}, patience, 5*time.Millisecond, "they do not overlap")
	before := whatIsDecided(t, db).epoch
	goOn()
	over()
	require.NoError(t, stored(t, db, "conductor-1 conductor-2 ring-1 ring-2"))
	require.Equal(t, before+1, whatIsDecided(t, db).epoch, "one of them wrote")

	// One is frozen in its middle, and continued when others have written two epochs.
	goOn = s.inTheMiddle(t, db, "first", func() {
		begin("ring-3")
		over = s.reconcile(t, "frozen", 8)
	})
	freeze(t, first)
	goOn()
	eventually(t, patience, func() error { return stored(t, db, "conductor-1 conductor-2 ring-1 ring-2 ring-3") })
	leave("ring-2")
	more := s.reconcile(t, "newer", 8)
	eventually(t, patience, func() error { return stored(t, db, "conductor-1 conductor-2 ring-1 ring-3") })
	decided := whatIsDecided(t, db)
	thaw(t, first)
	over()
	more()
	ticks(t, db, 1)
	require.NoError(t, stored(t, db, "conductor-1 conductor-2 ring-1 ring-3"))
	require.Equal(t, decided, whatIsDecided(t, db), "nothing of what it had read was written")
	require.NoError(t, s.owned(group, "ring-1", "ring-3"))
	log, err := os.ReadFile(s.Log("orchestrator-1"))
	require.NoError(t, err)
	t.Logf("who woke computed again: %t", strings.Contains(string(log), "the ring is computed again"))

	nobodyIsLeft(t, s, db, group, conductors, nodes...)
}

// calls counts the answers that agents got, by path.
type calls struct {
	mu  sync.Mutex
	got map[string][]int
}

func (c *calls) between(r *http.Request, send func() *answer) *answer {
	a := send()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range []string{"/v1/lookup", "/v1/heartbeat", "/v1/continue_inspection"} {
		if a != nil && strings.HasPrefix(r.URL.Path, path) {
			c.got[path] = append(c.got[path], a.Status)
		}
	}
	return a
}

// taken returns an error if no request to a path was accepted yet. (An inventory of a node that is not inspected is refused.)
func (c *calls) taken(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(c.got[path], func(status int) bool { return status < http.StatusMultipleChoices }) {
		return fmt.Errorf("%s was answered %v", path, c.got[path])
	}
	return nil
}

// nobodyIsLeft kills all conductors while agents boot.
func nobodyIsLeft(t *testing.T, s *stack, db *pgx.Conn, group string, conductors map[string]*dev.Running, idle ...*node) {
	t.Helper()
	booted, c := make(chan struct{}), &calls{got: map[string][]int{}}
	agents := func(r *http.Request, send func() *answer) *answer {
		select {
		case <-booted:
			return c.between(r, send)
		case <-r.Context().Done():
			return nil
		}
	}
	r := ownRack(t, newProxy(t, s.APIURL, agents), sim.Config{Servers: 2})
	deploying, inspecting := available(t, s, r), manageable(t, s, r)
	inspecting.patch("inspect_interface", "agent")
	for _, n := range []*node{deploying, inspecting} {
		n.patch("conductor_group", group)
	}
	deploy, inspect := deploying.provision("active", nil), inspecting.provision("inspect", nil)
	deploying.await("wait call-back")
	inspecting.await("inspect wait")

	// The driver is live, and one of the node's interfaces only on a conductor that is dead: ring-3 is as of a release without.
	_, err := db.Exec(t.Context(), `UPDATE conductors SET interfaces = jsonb_set(interfaces, '{redfish,boot}', '["ipxe"]') WHERE hostname = 'ring-3'`)
	require.NoError(t, err)
	require.NoError(t, s.offers(group, idle...), "ring-1 has it")
	s.killAll(t, "conductor")
	die(t, conductors["ring-1"])
	eventually(t, timeout+2*time.Second, func() error { return s.offers(group) })
	states, err := s.states(group)
	require.NoError(t, err)
	require.Equal(t, "alive", states["ring-3"])
	none := `No valid host was found. Reason: No conductor service registered which supports driver redfish for conductor group "ring".`
	require.Contains(t, idle[0].refused(http.StatusNotFound, "active", nil), none)
	eventually(t, patience, func() error {
		return errors.Join(s.owned(group, "null"), stored(t, db, "ring-3"), idle[0].told("quarantined: No conductor service"))
	})

	// Now no conductor is alive.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, conductors["ring-3"].Stop(ctx))
	require.Contains(t, idle[0].refused(http.StatusServiceUnavailable, "active", nil), "Resource temporarily unavailable, please retry.")
	eventually(t, patience, func() error { return stored(t, db, "") })
	ticks(t, db, 1)
	alone := whatIsDecided(t, db)
	close(booted)
	eventually(t, patience, func() error {
		return errors.Join(c.taken("/v1/lookup"), c.taken("/v1/heartbeat"), c.taken("/v1/continue_inspection"))
	})
	idle[0].patch("description", "what needs no hardware goes on")
	idle[0].maintain()
	idle[0].release()
	for n, id := range map[*node]string{deploying: deploy, inspecting: inspect} {
		o, err := n.operation(id)
		require.NoError(t, err)
		require.NotEqual(t, "ended", o.State, "%s", o)
	}
	ticks(t, db, 2)
	require.Equal(t, alone, whatIsDecided(t, db), "with nobody there is nothing to decide")

	s.conductor(t, group, "ring-4")
	require.NoError(t, s.offers(group, idle...), "from its start on")
	deploying.deployed(deploy, digest(t, r))
	inspecting.done(inspect, "manageable")
	inspecting.inspected()
	for _, n := range []*node{deploying, inspecting} {
		require.Equal(t, 1, n.hardware().AgentBoots, "its agent was not lost")
	}
	eventually(t, patience, func() error { return errors.Join(s.owned(group, "ring-4"), idle[0].told("released from quarantine")) })
}
