package system_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
)

// overWithin is how long a step may be interrupted when its conductor is killed, on a busy machine.
const overWithin = 10*time.Second + slack

// Processes die in the middle of deploys and of cleaning. Everything continues where it was, and no server is switched twice for
// one request.
func TestProcessesMayDieAtAnyTime(t *testing.T) {
	t.Parallel()
	s := own(t, 12, "--restart")
	l := newLoad(t, s)
	undisturbed(t, s)
	// One after the other. After a failure the rest is skipped, because the nodes are not in the states that it needs.
	run := func(name string, f func(*testing.T)) {
		if !t.Failed() {
			t.Run(name, f)
		}
	}

	run("a conductor that is killed", func(t *testing.T) {
		conductors := map[string]*dev.Running{"far-1": s.conductor(t, "far", "far-1"), "far-2": s.conductor(t, "far", "far-2")}
		l.move(t, "far")
		l.begin(t)
		victim, nodes := l.busiest(t, conductors)
		began := time.Now()
		require.NoError(t, syscall.Kill(conductors[victim].Pid(), syscall.SIGKILL))
		eventually(t, overWithin, func() error { return l.leave(nodes, victim) })
		t.Logf("%d steps of %s ran elsewhere after %s", len(nodes), victim, time.Since(began).Round(100*time.Millisecond))
		for _, n := range nodes {
			require.NotEqual(t, victim, text(n.now().Reservation), "no dead conductor is named")
		}
		l.finish(t)
		for _, n := range nodes {
			took := slices.IndexFunc(n.timeline(l.ids[n]), func(m moment) bool { return m.What == "taken over" && m.Former == victim && m.Conductor != victim })
			require.GreaterOrEqual(t, took, 0, "%+v", n.timeline(l.ids[n]))
			require.Contains(t, n.timeline(l.ids[n])[took].Text, "took step "+n.timeline(l.ids[n])[took].Step+" over from ")
		}
	})

	run("a conductor that is told to stop", func(t *testing.T) {
		conductors := map[string]*dev.Running{"far-3": s.conductor(t, "far", "far-3"), "far-4": s.conductor(t, "far", "far-4")}
		l.begin(t)
		victim, nodes := l.busiest(t, conductors)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- conductors[victim].Stop(ctx) }()
		eventually(t, overWithin, func() error { return l.leave(nodes, victim) })
		t.Logf("%d steps of %s ran elsewhere after %s", len(nodes), victim, time.Since(began).Round(10*time.Millisecond))
		require.NoError(t, <-ended)
		require.Equal(t, "ended with exit code 0", conductors[victim].End())
		names, err := s.alive()
		require.NoError(t, err)
		require.NotContains(t, names, victim, "who leaves says so")
		l.finish(t)
	})

	run("a conductor that freezes and comes back", func(t *testing.T) {
		conductors := map[string]*dev.Running{"far-5": s.conductor(t, "far", "far-5"), "far-6": s.conductor(t, "far", "far-6")}
		l.begin(t)
		victim, nodes := l.busiest(t, conductors)
		require.NoError(t, syscall.Kill(conductors[victim].Pid(), syscall.SIGSTOP))
		eventually(t, patience, func() error { return l.leave(nodes, victim) })
		require.NoError(t, syscall.Kill(conductors[victim].Pid(), syscall.SIGCONT))
		l.finish(t)
		l.move(t, "")
		// From here on no step has to be interrupted for the heartbeat timeout.
		l.cleaning.patch("driver_info/agent_burnin_cpu_timeout", 3)
	})

	run("the orchestrator", func(t *testing.T) {
		l.begin(t)
		s.kill(t, "orchestrator")
		l.finish(t)
	})

	run("the API", func(t *testing.T) {
		l.begin(t)
		s.kill(t, "api")
		s.awaitReady(t)
		l.finish(t)
	})

	run("Temporal", func(t *testing.T) {
		l.begin(t)
		s.kill(t, "temporal")
		s.awaitReady(t)
		l.finish(t)
	})

	run("PostgreSQL", func(t *testing.T) {
		l.begin(t)
		before := s.signal(t, "postgres", syscall.SIGKILL)
		var seen []int
		catches(t, patience, func() error {
			status, words := s.statusOf("/v1/nodes/" + l.writing.uuid)
			if !slices.Contains(seen, status) {
				seen = append(seen, status)
			}
			if status == http.StatusServiceUnavailable && !strings.HasPrefix(words, "Resource temporarily unavailable, please retry.") {
				t.Errorf("the answer is %q", words)
			}
			if now := s.PID("postgres"); now == 0 || now == before || status != http.StatusOK {
				return fmt.Errorf("not yet: %d %s", status, words)
			}
			return nil
		})
		require.Contains(t, seen, http.StatusServiceUnavailable)
		require.Subset(t, []int{http.StatusOK, http.StatusServiceUnavailable}, seen, "an outage is told as one")
		s.awaitReady(t)
		l.finish(t)
	})

	run("all of them at once", func(t *testing.T) {
		l.begin(t)
		before := map[string]int{}
		for _, name := range []string{"conductor-1", "conductor-2", "orchestrator", "api", "temporal", "postgres"} {
			before[name] = s.signal(t, name, syscall.SIGKILL)
		}
		for name, pid := range before {
			s.awaitOther(t, name, pid)
		}
		s.awaitReady(t)
		l.finish(t)
	})

	run("the API after a 202 that Temporal never heard of", func(t *testing.T) {
		n := l.writing.as(t)
		n.image(s.rack.url+"/images/disk.raw", digest(t, s.rack))
		before := len(n.hardware().Actions)
		s.signal(t, "temporal", syscall.SIGSTOP)
		id := n.provision("active", nil)
		now := n.now()
		require.Equal(t, "deploying", now.State)
		require.NotNil(t, now.Reservation)
		api := s.signal(t, "api", syscall.SIGKILL)
		s.signal(t, "temporal", syscall.SIGCONT)
		s.awaitOther(t, "api", api)
		s.awaitReady(t)
		n.deployed(id, digest(t, s.rack))
		require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions[before:]))
		n.done(n.provision("deleted", nil), "available")
	})

	run("the API right after a 202", func(t *testing.T) {
		n := l.writing.as(t)
		n.image(s.rack.url+"/images/disk.raw", digest(t, s.rack))
		id := n.provision("active", nil)
		s.kill(t, "api")
		s.awaitReady(t)
		n.deployed(id, digest(t, s.rack))
		n.done(n.provision("deleted", nil), "available")
	})

	run("a workflow that is terminated before it has begun", func(t *testing.T) {
		n := l.writing.as(t)
		n.image(s.rack.url+"/images/disk.raw", digest(t, s.rack))
		c := s.temporal(t)
		s.signal(t, "orchestrator", syscall.SIGSTOP)
		id := n.provision("active", nil)
		o, err := n.operation(id)
		require.NoError(t, err)
		eventually(t, patience, func() error { return c.TerminateWorkflow(t.Context(), o.WorkflowID, "", "too early") })
		s.signal(t, "orchestrator", syscall.SIGCONT)
		n.failed(id, "deploy failed", "terminated")
		n.deployed(n.provision("active", nil), digest(t, s.rack))
	})
}

// If no conductor covers a node, its operation waits, no dead conductor is named, and new work is refused. A conductor that
// comes back continues the operation where it was.
func TestTheLastConductorOfAGroupMayDie(t *testing.T) {
	t.Parallel()
	s := world(t)
	last := s.conductor(t, "lone", "lone-1")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	n, idle := available(t, s, s.rack), available(t, s, s.rack)
	for _, n := range []*node{n, idle} {
		n.patch("conductor_group", "lone")
	}
	n.image(l.url+"/slow.raw", l.sha256)
	id := n.provision("active", nil)
	n.writing(l)
	require.NoError(t, syscall.Kill(last.Pid(), syscall.SIGKILL))
	s.dead(t, "lone-1")
	require.Equal(t, "wait call-back", n.now().State, "it waits")
	require.Contains(t, idle.refused(http.StatusNotFound, "active", nil), "No valid host was found.")
	require.Equal(t, "available", idle.now().State)
	o, err := n.operation(id)
	require.NoError(t, err)
	const why = `a conductor with driver redfish in conductor group "lone"`
	require.Equal(t, why, text(o.WaitingFor), "and says for what")
	require.Contains(t, fmt.Sprint(n.now().Internal["temper"]), why)
	eventually(t, patience, func() error { return n.blocked(id, why) })

	s.conductor(t, "lone", "lone-2")
	close(gate)
	n.deployed(id, l.sha256)
	require.Equal(t, []string{"write_image"}, n.hardware().steps(), "asked, not repeated")
	require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
}

// busiest returns the conductor with the most running steps, and their nodes.
func (l *load) busiest(t *testing.T, conductors map[string]*dev.Running) (name string, nodes []*node) {
	t.Helper()
	for c := range conductors {
		if on := l.on(t, c); len(on) > len(nodes) {
			name, nodes = c, on
		}
	}
	require.NotEmpty(t, nodes, "no conductor has a step at work")
	return name, nodes
}
