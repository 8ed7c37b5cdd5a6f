package system_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// held returns a node whose deploy holds, because its image arrived damaged once.
func held(t *testing.T, s *stack) (n *node, operation string) {
	t.Helper()
	n = available(t, s, s.rack)
	n.spoil(fault{Kind: "wrong_checksum", Count: 1})
	a := s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision?on_failure=hold", map[string]any{"target": "active"})
	operation = n.accepted(a)
	n.holds(operation, "write_image")
	return n, operation
}

// holds waits until an operation holds at a step for a decision.
func (n *node) holds(id, name string) {
	n.t.Helper()
	eventually(n.t, patience, func() error {
		o, err := n.operation(id)
		if err != nil {
			return err
		}
		if st, ok := o.step(name); !ok || st.State != "failed" || o.State != "holding" {
			return fmt.Errorf("it does not hold at %s: %s", name, o)
		}
		return nil
	})
}

func (n *node) decide(id, action, reason string) answer {
	n.t.Helper()
	a, err := n.s.ask(http.MethodPost, "/temper/v1/operations/"+id+"/decision", map[string]any{"action": action, "reason": reason})
	require.NoError(n.t, err)
	return a
}

func TestAFailedStepHoldsUntilSomebodyDecides(t *testing.T) {
	t.Parallel()
	s := world(t)
	sum := digest(t, s.rack)

	t.Run("by retry", func(t *testing.T) {
		t.Parallel()
		n, id := held(t, s)
		now := n.now()
		require.Equal(t, "deploy hold", now.State)
		require.Equal(t, "active", text(now.Target))
		require.Contains(t, text(now.LastError), "Image failed to verify against checksum")
		o, err := n.operation(id)
		require.NoError(t, err)
		require.Equal(t, "a decision: retry or abort", text(o.WaitingFor))
		require.Contains(t, n.refused(http.StatusBadRequest, "rebuild", nil), `while it is in state "deploy hold"`)
		a := n.decide(id, "skip", "")
		require.Equal(t, http.StatusBadRequest, a.Status)
		require.Contains(t, a.Words(), "Step deploy.write_image can not be skipped")
		require.Equal(t, http.StatusBadRequest, n.decide(id, "dance", "").Status)

		a = n.decide(id, "retry", "cable plugged in")
		require.Equal(t, http.StatusAccepted, a.Status, a.Words())
		require.Equal(t, http.StatusConflict, n.decide(id, "retry", "again").Status, "one decision is enough")
		n.deployed(id, sum)
		var shown struct {
			Decisions []map[string]any `json:"decisions"`
		}
		require.NoError(t, s.read("/temper/v1/operations/"+id, &shown))
		require.Len(t, shown.Decisions, 1)
		require.Equal(t, "cable plugged in", shown.Decisions[0]["reason"])
		require.Equal(t, "deploy.write_image", shown.Decisions[0]["step"])
		require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions), "nothing is booted again for it")
		var history struct {
			History []map[string]any `json:"history"`
		}
		require.NoError(t, s.read("/v1/nodes/"+n.uuid+"/history?detail=true", &history))
		require.Contains(t, fmt.Sprint(history.History), "decided to retry deploy.write_image: cable plugged in")
	})

	t.Run("by retry with what was wrong set right", func(t *testing.T) {
		t.Parallel()
		n := available(t, s, s.rack)
		url, _ := n.now().InstanceInfo["image_source"].(string)
		n.image(url, strings.Repeat("0", 64))
		a := s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision?on_failure=hold", map[string]any{"target": "active"})
		id := n.accepted(a)
		n.holds(id, "write_image")
		n.image(url, sum)
		require.Equal(t, http.StatusAccepted, n.decide(id, "retry", "the right checksum").Status)
		n.deployed(id, sum)
	})

	t.Run("by retry after the agent went with the power", func(t *testing.T) {
		t.Parallel()
		n, id := held(t, s)
		s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/power", map[string]any{"target": "power off"})
		require.Eventually(t, func() bool { return text(n.now().Power) == "power off" }, patience, look)
		n.holds(id, "write_image")
		require.Equal(t, http.StatusAccepted, n.decide(id, "retry", "the power is as I want it").Status)
		n.deployed(id, sum)
		require.Equal(t, 2, n.hardware().AgentBoots)
	})

	t.Run("by Ironic's unhold", func(t *testing.T) {
		t.Parallel()
		n, id := held(t, s)
		require.Equal(t, id, n.provision("unhold", nil))
		n.deployed(id, sum)
		var shown struct {
			Decisions []map[string]any `json:"decisions"`
		}
		require.NoError(t, s.read("/temper/v1/operations/"+id, &shown))
		require.Equal(t, "anonymous", shown.Decisions[0]["by"])
	})

	t.Run("by Ironic's abort", func(t *testing.T) {
		t.Parallel()
		n, id := held(t, s)
		require.Equal(t, id, n.provision("abort", nil))
		n.leftByDeploy(n.cancelled(id, "deploy failed"))
	})

	t.Run("by abort", func(t *testing.T) {
		t.Parallel()
		n, id := held(t, s)
		require.Equal(t, http.StatusAccepted, n.decide(id, "abort", "not today").Status)
		n.leftByDeploy(n.cancelled(id, "deploy failed"))
		require.Equal(t, http.StatusConflict, n.decide(id, "retry", "").Status, "it has ended")
	})

	t.Run("by an update in Temporal", func(t *testing.T) {
		t.Parallel()
		n, id := held(t, s)
		o, err := n.operation(id)
		require.NoError(t, err)
		h, err := s.temporal(t).UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: o.WorkflowID, UpdateName: "decide", Args: []any{map[string]any{"action": "retry"}},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err)
		require.NoError(t, h.Get(t.Context(), nil))
		n.deployed(id, sum)
	})

	t.Run("by skip", func(t *testing.T) {
		t.Parallel()
		n := manageable(t, s, s.rack)
		n.spoil(fault{Kind: "unauthorized", Method: "POST", Path: reset})
		body := map[string]any{"target": "clean", "disable_ramdisk": true, "clean_steps": cleanSteps("power_on", "wait")["clean_steps"]}
		body["clean_steps"].([]any)[1].(map[string]any)["args"] = map[string]any{"seconds": 0}
		id := n.accepted(s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision?on_failure=hold", body))
		n.holds(id, "power_on")
		require.Equal(t, "clean hold", n.now().State)
		n.spoil()
		require.Equal(t, http.StatusAccepted, n.decide(id, "skip", "").Status)
		n.done(id, "manageable")
		o, err := n.operation(id)
		require.NoError(t, err)
		st, _ := o.step("power_on")
		require.Equal(t, "skipped", st.State)
	})

	t.Run("where Ironic has no hold state", func(t *testing.T) {
		t.Parallel()
		n := enroll(t, s, s.rack)
		n.spoil(fault{Kind: "unauthorized", Path: system})
		a := s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision?on_failure=hold", map[string]any{"target": "manage"})
		id := n.accepted(a)
		n.holds(id, "verify")
		now := n.now()
		require.Equal(t, "verifying", now.State)
		require.NotNil(t, now.LastError)
		n.spoil()
		require.Equal(t, http.StatusAccepted, n.decide(id, "retry", "").Status)
		n.done(id, "manageable")
	})
}

func TestADecisionThatNobodyAskedForIsRefused(t *testing.T) {
	t.Parallel()
	s := world(t)
	n, id := waitingForItsAgent(t, s)
	a := n.decide(id, "retry", "")
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Words(), "waits for no decision")
	n.cancel(id)
	n.cancelled(id, "deploy failed")
	require.Contains(t, string(s.must(t, http.StatusBadRequest, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision?on_failure=wait",
		map[string]any{"target": "active"}).Body), "on_failure")
	require.Equal(t, http.StatusNotFound, n.decide("999999999", "retry", "").Status)
}

// Until reconciliation has ended the operation, a decision and a retry are refused with the reason.
func TestADecisionThatComesAfterTheEndOfTheWorkflow(t *testing.T) {
	t.Parallel()
	s := world(t)
	n, id := held(t, s)
	o, err := n.operation(id)
	require.NoError(t, err)
	require.NoError(t, s.temporal(t).TerminateWorkflow(t.Context(), o.WorkflowID, "", "somebody pressed the button"))
	for _, path := range []string{"/retry", "/decision"} {
		body := map[string]any{"reason": "again"}
		if path == "/decision" {
			body["action"] = "abort"
		}
		a, err := s.ask(http.MethodPost, "/temper/v1/operations/"+id+path, body)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.Status, a.Words())
		require.Contains(t, a.Words(), "The workflow of the operation has ended, so that nothing takes a decision")
	}
	require.Equal(t, "failed", text(n.over(id).Outcome))
	n.undone()
	n.deployed(n.retry(id), digest(t, s.rack))
}
