package system_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingThatIsAliveIsTakenAwayButByForce(t *testing.T) {
	t.Parallel()
	s := world(t)
	n, id := waitingForItsAgent(t, s)
	at := "/temper/v1/nodes/" + n.uuid
	var r struct {
		Operation *string `json:"operation"`
		Workflow  *string `json:"workflow"`
		Alive     bool    `json:"alive"`
		Done      *string `json:"done"`
		Why       string  `json:"why"`
	}
	require.NoError(t, s.must(t, http.StatusOK, http.MethodPost, at+"/recover", map[string]any{}).Decode(&r))
	require.Equal(t, id, text(r.Operation))
	require.True(t, r.Alive)
	require.Nil(t, r.Done)
	require.Equal(t, "wait call-back", n.now().State)
	var why struct {
		Text string `json:"text"`
	}
	require.NoError(t, s.read(at+"/why", &why))
	require.Contains(t, why.Text, "its agent has not called since")
	require.Contains(t, why.Text, "temper operation cancel "+id)

	a := s.must(t, http.StatusBadRequest, http.MethodPost, at+"/recover", map[string]any{"force": true})
	require.Contains(t, a.Words(), "A reason is required with force.")
	require.NoError(t, s.must(t, http.StatusOK, http.MethodPost, at+"/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).Decode(&r))
	require.NotNil(t, r.Done)
	require.Equal(t, "failed", text(n.over(id).Outcome))
	now := n.undone()
	n.free(now)
	n.leftByDeploy(now)
	require.Contains(t, text(now.LastError), "ended by force")
	require.Contains(t, string(s.must(t, http.StatusOK, http.MethodGet, "/v1/nodes/"+n.uuid+"/history?detail=true", nil).Body), "taken from its owner by force: rack 7 burns")
	require.NoError(t, s.must(t, http.StatusOK, http.MethodPost, at+"/recover", map[string]any{}).Decode(&r))
	require.Nil(t, r.Operation)

	n.spoil()
	n.deployed(n.provision("active", nil), digest(t, s.rack))
}

// owing returns a node that owes an undo, because its deploy was cancelled while its BMC had these faults.
func owing(t *testing.T, s *stack, faults ...fault) *node {
	t.Helper()
	n := available(t, s, s.rack.of(standard))
	n.spoil(fault{Kind: "no_agent"})
	id := n.provision("active", nil)
	n.await("wait call-back")
	n.spoil(append([]fault{{Kind: "no_agent"}}, faults...)...)
	n.cancel(id)
	require.Equal(t, "cancelled", text(n.over(id).Outcome))
	require.Contains(t, text(n.now().LastError), "what it left is still to be undone")
	return n
}

// If a BMC refuses to switch off at the end of an operation, the operation's end state stays the same. The power-off is tried
// again when driver_info changes.
func TestWhatCouldNotBeUndoneIsOwedUntilItIsDone(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := owing(t, s, fault{Kind: "unauthorized", Method: "POST", Path: reset})
	n.refusedUndo()
	now := n.now()
	require.Equal(t, "deploy failed", now.State)
	require.Equal(t, "power on", text(now.Power), "the BMC refused")
	require.Contains(t, text(now.LastError), "request ForceOff at ")
	require.Equal(t, []any{"power off", "eject media", "clear boot override"}, now.Internal["temper_owed"])
	sv := n.hardware()
	require.NotEmpty(t, sv.Media)

	n.spoil()
	before := len(sv.Actions)
	n.patch("driver_info/deploy_note", "the BMC was reset")
	now = n.undone()
	n.free(now)
	require.NotContains(t, now.Internal, "temper_owed")
	n.leftByDeploy(now)
	n.deployed(n.provision("active", nil), digest(t, s.rack))
	got := effects(n.hardware().Actions[before:])
	require.Equal(t, append([]string{"ForceOff On->Off"}, effects(undisturbed(t, s))...), got, "first what was owed, then the deploy")
}

// An undo that a BMC refuses for good is reported once and not tried again, and it does not block other work on the node.
func TestWhatABMCRefusesToUndoLocksNoNodeUp(t *testing.T) {
	t.Parallel()
	s := world(t)
	stuck := fault{Kind: "unauthorized", Method: "POST", Path: eject}
	n := owing(t, s, stuck)
	undo := n.refusedUndo()
	now := n.now()
	n.free(now)
	why := text(now.LastError)
	require.Equal(t, []any{"eject media"}, now.Internal["temper_owed"], "all else is done")
	require.Contains(t, now.Internal["temper_owed_error"], "eject virtual media")

	require.Equal(t, "succeeded", text(n.over(n.power("power on")).Outcome))
	require.Equal(t, why, text(n.now().LastError), "why the deploy failed outlasts it")
	require.Equal(t, "succeeded", text(n.over(n.power("power off")).Outcome))
	require.Equal(t, []any{"eject media"}, n.now().Internal["temper_owed"])
	require.Equal(t, 1, n.lines("still to be undone"), "when the deploy ended")
	require.Zero(t, n.lines("undo failed"), "as that has said already")
	require.Equal(t, undo, n.refusedUndo(), "and no other was tried since")

	n.spoil()
	a := s.must(t, http.StatusAccepted, http.MethodPost, "/temper/v1/operations/"+undo+"/retry", map[string]any{})
	require.Equal(t, "succeeded", text(n.over(n.accepted(a)).Outcome))
	now = n.now()
	require.NotContains(t, now.Internal, "temper_owed")
	require.Contains(t, text(now.LastError), "what it left is undone since")
	require.Empty(t, n.hardware().Media)
	n.deployed(n.provision("active", nil), digest(t, s.rack))
}

func TestWhatABMCRefusesToUndoCanBeWaivedAndIsTakenOverByADeploy(t *testing.T) {
	t.Parallel()
	s := world(t)
	stuck := fault{Kind: "unauthorized", Method: "POST", Path: eject}
	t.Run("waived", func(t *testing.T) {
		t.Parallel()
		n := owing(t, s, stuck)
		n.refusedUndo()
		s.must(t, http.StatusOK, http.MethodPost, "/temper/v1/nodes/"+n.uuid+"/waive", map[string]any{"reason": "the drive is broken"})
		now := n.now()
		require.NotContains(t, now.Internal, "temper_owed")
		require.Contains(t, text(now.LastError), "the drive is broken")
		require.Equal(t, 1, n.lines("waived what was to be undone (eject media): the drive is broken"))
	})
	t.Run("taken over", func(t *testing.T) {
		t.Parallel()
		n := owing(t, s, stuck)
		n.refusedUndo()
		n.spoil()
		n.deployed(n.provision("active", nil), digest(t, s.rack))
		require.NotContains(t, n.now().Internal, "temper_owed")
		require.Empty(t, n.hardware().Media)
	})
}

// refusedUndo waits until an undo operation of the reconciliation has failed, and returns its id.
func (n *node) refusedUndo() (id string) {
	n.t.Helper()
	eventually(n.t, patience, func() error {
		var all struct{ Operations []operation }
		err := n.s.read("/temper/v1/operations?kind=undo&node="+n.uuid, &all)
		switch {
		case err != nil:
			return err
		case len(all.Operations) != 1 || text(all.Operations[0].Outcome) != "failed":
			return fmt.Errorf("no single undo that failed: %v", all.Operations)
		}
		id = all.Operations[0].ID
		return nil
	})
	return id
}

// lines returns how many events of the node's history contain these words.
func (n *node) lines(words string) (count int) {
	n.t.Helper()
	var all struct {
		History []struct{ Event string }
	}
	require.NoError(n.t, n.s.read("/v1/nodes/"+n.uuid+"/history?detail=true", &all))
	for _, e := range all.History {
		if strings.Contains(e.Event, words) {
			count++
		}
	}
	return count
}
