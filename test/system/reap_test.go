package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
)

// database returns the test's own connection to the stack's PostgreSQL.
func (s *stack) database(t *testing.T) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.DatabaseURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) }) // the stack ends soon
	return c
}

// value returns the result of a query.
func value[T any](t *testing.T, db *pgx.Conn, query string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), query, args...).Scan(&v), query)
	return v
}

// ticks waits until so many reconciliations that began after now have ended.
func ticks(t *testing.T, db *pgx.Conn, count int) {
	t.Helper()
	const query = `SELECT coalesce(reconciled_at::text, '') FROM ring_epoch`
	for range count + 1 { // the first may have begun before
		before := value[string](t, db, query)
		require.Eventually(t, func() bool { return value[string](t, db, query) != before }, patience, look)
	}
}

// reports returns the nodes in the reports about compute services, by kind of report.
func (s *stack) reports(t *testing.T) map[string][]string {
	t.Helper()
	var body struct {
		Reports []struct {
			Kind string
			Some []string
		}
	}
	require.NoError(t, s.read("/temper/v1/compute-services", &body))
	out := map[string][]string{}
	for _, r := range body.Reports {
		out[r.Kind] = append(out[r.Kind], r.Some...)
	}
	return out
}

// frees checks whether a node is free in the inventory of a service.
func (p *computeProcess) frees(uuid string, want bool) error {
	now, err := p.read()
	if err == nil && now.free[uuid] != want {
		err = fmt.Errorf("node %s is free in the inventory of %s: %t", uuid, p.name, !want)
	}
	return err
}

// gone marks an instance absent. From then on its node must be reported, and not be offered.
func (n *node) gone(instance string, rest *computeProcess) {
	n.t.Helper()
	n.s.must(n.t, http.StatusNoContent, http.MethodDelete, "/temper/v1/instances/"+instance, nil)
	require.Contains(n.t, n.s.reports(n.t)["orphaned"], n.uuid, "at once")
	require.NoError(n.t, rest.frees(n.uuid, false))
}

// carries checks that a node is as it was deployed, with its instance.
func (n *node) carries(instance string) {
	n.t.Helper()
	now := n.now()
	require.Equal(n.t, "active", now.State)
	require.Equal(n.t, instance, text(now.InstanceUUID))
}

// backFor waits until a node is given back: off, without its instance, offered and free in the inventory of a service.
func (n *node) backFor(group string, p *computeProcess) {
	n.t.Helper()
	eventually(n.t, patience, func() error {
		have, err := n.s.offered(group)
		if _, ok := have[n.uuid]; err == nil && !ok {
			now := n.now()
			err = fmt.Errorf("it is %s, instance %s, and not offered", now.State, text(now.InstanceUUID))
		}
		return err
	})
	require.Nil(n.t, n.now().InstanceUUID)
	require.NoError(n.t, n.hardware().clean())
	require.NoError(n.t, n.told("given back: instance"))
	eventually(n.t, patience, func() error { return p.frees(n.uuid, true) })
	require.NotContains(n.t, n.s.reports(n.t)["orphaned"], n.uuid)
}

// If an instance is marked absent while its service is down, its node is reported at once. It is undeployed as the settings say:
// never, after some time, or as soon as its service is back and has seen that. An instance_uuid that was set by hand stays.
func TestANodeWhoseInstanceIsGoneIsGivenBack(t *testing.T) {
	t.Parallel()
	s := own(t, 6) // processes that end are not restarted
	db := s.database(t)
	s.killAll(t, "orchestrator")
	orchestrator := func(name string, env ...string) *dev.Running {
		return s.role(t, "orchestrator", name, env)
	}
	stop := func(p *dev.Running) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, p.Stop(ctx))
	}
	reporting := orchestrator("orchestrator-reporting", "TEMPER_REAP=report", "TEMPER_REAP_AFTER=1s")

	const group = "reaped"
	s.conductor(t, group, "reaped-1")
	nodes := []*node{in(t, s, group), in(t, s, group), in(t, s, group)}
	c := &computes{t: t, s: s, dir: t.TempDir(), group: group}
	for _, host := range []string{"reap-a", "reap-b"} {
		c.settings(host, group)
	}
	first := c.start("reap-a")
	eventually(t, patience, func() error { return c.whole([]string{nodes[0].uuid, nodes[1].uuid, nodes[2].uuid}) })

	// One instance is claimed from the service's share, one at the API in the service's name, and one without a service.
	claimed, taken, byHand := nodes[0], nodes[1], nodes[2]
	instances := map[*node]string{}
	for _, n := range nodes {
		instances[n] = uuid.NewString()
	}
	a, err := request(http.MethodPost, first.URL()+"/claims", map[string]any{"node_uuid": claimed.uuid, "instance_uuid": instances[claimed]}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	second := c.start("reap-b")
	eventually(t, patience, func() error {
		now, err := second.read()
		if err == nil && len(now.free) != 1 {
			err = fmt.Errorf("%d nodes are free in its inventory, and not one of two", len(now.free))
		}
		if now.free[byHand.uuid] {
			taken, byHand = byHand, taken
		}
		return err
	})
	for n, claimer := range map[*node]string{taken: "reap-b", byHand: ""} {
		a, err := request(http.MethodPatch, s.APIURL+"/v1/nodes/"+n.uuid, set("instance_uuid", instances[n]),
			http.Header{"X-Openstack-Ironic-Api-Version": {"1.114"}, "Temper-Compute-Service": slices.DeleteFunc([]string{claimer}, func(s string) bool { return s == "" })})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Words())
	}
	for _, n := range nodes {
		n.deployed(n.provision("active", nil), digest(t, s.rack))
		n.carries(instances[n])
	}
	require.Contains(t, s.reports(t)["instance without service"], byHand.uuid)
	s.must(t, http.StatusNotFound, http.MethodDelete, "/temper/v1/instances/"+instances[byHand], nil)

	// reap: report.
	die(t, first.Running)
	claimed.gone(instances[claimed], second)
	ticks(t, db, 2)
	claimed.carries(instances[claimed])
	require.Contains(t, s.reports(t)["orphaned"], claimed.uuid)

	// reap_after is over.
	stop(reporting)
	reaping := orchestrator("orchestrator-reaping", "TEMPER_REAP_AFTER=1s")
	claimed.backFor(group, second)
	byHand.carries(instances[byHand])

	// The service is back before it is.
	stop(reaping)
	orchestrator("orchestrator-patient")
	require.NoError(t, syscall.Kill(second.Pid(), syscall.SIGTERM))
	<-second.Done()
	third := c.start("reap-a")
	taken.gone(instances[taken], third)
	ticks(t, db, 2)
	taken.carries(instances[taken])
	back := time.Now()
	again := c.start("reap-b")
	eventually(t, patience, func() error { return errors.Join(again.frees(taken.uuid, false), taken.told("given back: instance")) })
	t.Logf("given back %s after its service was started again", time.Since(back).Round(100*time.Millisecond))
	eventually(t, patience, func() error {
		if now := taken.now(); now.InstanceUUID != nil || now.State != "available" {
			return fmt.Errorf("it is %s, instance %s", now.State, text(now.InstanceUUID))
		}
		return nil
	})
	eventually(t, patience, func() error { return c.whole([]string{claimed.uuid, taken.uuid}) })

	byHand.carries(instances[byHand])
	ticks(t, db, 1)
	require.Zero(t, value[int](t, db, `SELECT count(*) FROM instances`), "what stands on no node is forgotten")
	for _, p := range c.running() {
		a, err := request(http.MethodGet, p.MetricsURL(), nil, nil)
		require.NoError(t, err)
		require.Contains(t, string(a.Body), "\ntemper_compute_free_nodes 1\n", p.name)
	}
}
