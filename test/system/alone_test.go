package system_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// If the conductors of a group are killed and the orchestrator and Temporal are stopped, an operation in the middle of a step
// can still be cancelled, and its node undeployed, deleted or moved, at once: only the database is needed. When the others
// return, each ends as requested.
func TestWhatIsStuckIsEndedWithTheDatabaseAlone(t *testing.T) {
	t.Parallel()
	s := own(t, 8, "--restart")
	only := s.conductor(t, "lone", "lone-1")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	names := []string{"cancelled", "aborted", "deleted", "gone", "moved", "waiting"}
	nodes, ids := map[string]*node{}, map[string]string{}
	for _, name := range names {
		n := in(t, s, "lone")
		n.image(l.url+"/slow.raw", l.sha256)
		if name == "waiting" {
			n.spoil(fault{Kind: "no_agent"})
		}
		nodes[name], ids[name] = n, n.provision("active", nil)
	}
	for _, name := range names[:5] {
		nodes[name].running(ids[name], "write_image")
	}
	eventually(t, patience, func() error {
		if l.got("/slow.raw") < 5 {
			return errors.New("not all images are written")
		}
		return nil
	})
	nodes["waiting"].await("wait call-back")
	temporal := s.signal(t, "temporal", syscall.SIGSTOP)
	s.signal(t, "orchestrator", syscall.SIGSTOP)
	die(t, only)
	s.dead(t, "lone-1")

	atOnce := func(what func()) {
		t.Helper()
		began := time.Now()
		what()
		require.Less(t, time.Since(began), 10*time.Second+slack, "of which Temporal is waited for at most one each time it is told")
	}
	atOnce(func() { nodes["cancelled"].cancel(ids["cancelled"]) })
	now := nodes["cancelled"].cancelled(ids["cancelled"], "deploy failed")
	require.Contains(t, text(now.LastError), "still to be undone")
	atOnce(func() { nodes["aborted"].provision("abort", nil) })
	nodes["aborted"].cancelled(ids["aborted"], "deploy failed")
	atOnce(func() { nodes["waiting"].provision("abort", nil) })
	nodes["waiting"].cancelled(ids["waiting"], "deploy failed")
	atOnce(func() { nodes["deleted"].provision("deleted", nil) })
	require.Equal(t, "cancelled", text(nodes["deleted"].over(ids["deleted"]).Outcome))
	require.Equal(t, "deleting", nodes["deleted"].now().State)
	nodes["gone"].maintain()
	atOnce(func() { s.must(t, http.StatusNoContent, http.MethodDelete, "/v1/nodes/"+nodes["gone"].uuid, nil) })
	atOnce(func() { nodes["moved"].patch("conductor_group", "") })

	require.Equal(t, temporal, s.signal(t, "temporal", syscall.SIGCONT))
	s.signal(t, "orchestrator", syscall.SIGCONT)
	s.awaitReady(t)
	close(gate)
	nodes["moved"].deployed(ids["moved"], l.sha256)
	require.Equal(t, []string{"write_image"}, nodes["moved"].hardware().steps(), "asked, not repeated")
	require.Equal(t, effects(undisturbed(t, s)), effects(nodes["moved"].hardware().Actions))

	s.conductor(t, "lone", "lone-2")
	nodes["deleted"].await("available")
	for _, name := range []string{"cancelled", "aborted", "waiting", "deleted"} {
		n := nodes[name]
		eventually(t, patience, func() error {
			sv, err := n.r.read(n.server)
			if err == nil {
				err = sv.clean()
			}
			if err == nil && n.now().Reservation != nil {
				err = errors.New("its undo has not ended")
			}
			return err
		})
	}
	nodes["waiting"].spoil()
	nodes["waiting"].image(l.url+"/good.raw", l.sha256)
	nodes["waiting"].deployed(nodes["waiting"].provision("active", nil), l.sha256)
}
