package system_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
)

// pauseWorkflow pauses the workflow, as "Pause Workflow" in Temporal's UI does, and waits until the operation shows that.
func (n *node) pauseWorkflow(id string) {
	n.t.Helper()
	o, err := n.operation(id)
	require.NoError(n.t, err)
	_, err = n.s.temporal(n.t).WorkflowService().PauseWorkflowExecution(n.t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: n.s.TemporalNamespace, WorkflowId: o.WorkflowID, Identity: "ann@desk", Reason: "let me look", RequestId: "pause-" + id,
	})
	require.NoError(n.t, err)
	eventually(n.t, patience, func() error {
		o, err := n.operation(id)
		if err == nil && (o.State != "paused" || !strings.Contains(text(o.WaitingFor), "paused in Temporal") || !strings.Contains(text(o.WaitingFor), "by ann@desk (let me look)")) {
			err = fmt.Errorf("it does not say that it is paused: %s", o)
		}
		return err
	})
}

func (n *node) until(id string) time.Time {
	n.t.Helper()
	o, err := n.operation(id)
	require.NoError(n.t, err)
	require.NotNil(n.t, o.Until, "%s", o)
	at, err := time.Parse(time.RFC3339Nano, text(o.Until))
	require.NoError(n.t, err)
	return at
}

func TestADeployThatIsPausedInTemporalRests(t *testing.T) {
	t.Parallel()
	s := world(t)
	t.Run("and goes on with the time that it had left", func(t *testing.T) {
		t.Parallel()
		n, id := waitingForItsAgent(t, s)
		before := n.until(id)
		paused := time.Now()
		n.pauseWorkflow(id)
		o, err := n.operation(id)
		require.NoError(t, err)
		require.Nil(t, o.Until, "its time stands still")
		a := n.s.must(t, http.StatusConflict, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/power", map[string]any{"target": "power off"})
		require.Contains(t, commands(a), "temper operation unpause "+id)
		stood := time.Since(paused)
		s.must(t, http.StatusAccepted, http.MethodPost, "/temper/v1/operations/"+id+"/unpause", map[string]any{"reason": "looked"})
		require.GreaterOrEqual(t, n.until(id).Sub(before), stood-time.Second)
		require.Equal(t, id, n.provision("abort", nil))
		n.leftByDeploy(n.cancelled(id, "deploy failed"))
	})
	t.Run("in the middle of a step, which ends", func(t *testing.T) {
		t.Parallel()
		gate := make(chan struct{})
		l := newLibrary(t, gate)
		n := available(t, s, s.rack)
		n.image(l.url+"/slow.raw", l.sha256)
		id := n.provision("active", nil)
		n.writing(l)
		n.pauseWorkflow(id)
		close(gate)
		eventually(t, patience, func() error {
			o, err := n.operation(id)
			if st, _ := o.step("write_image"); err == nil && st.State != "done" {
				err = errors.New(o.String())
			}
			return err
		})
		o, err := n.operation(id)
		require.NoError(t, err)
		st, _ := o.step("prepare_instance_boot")
		require.Equal(t, "pending", st.State, "%s", o)
		s.must(t, http.StatusAccepted, http.MethodPost, "/temper/v1/operations/"+id+"/unpause", map[string]any{})
		n.deployed(id, l.sha256)
		require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
	})
	t.Run("and can be ended", func(t *testing.T) {
		t.Parallel()
		for _, verb := range []string{"abort", "deleted"} {
			n, id := waitingForItsAgent(t, s)
			n.pauseWorkflow(id)
			n.spoil() // cleaning boots an agent
			require.Equal(t, id, n.provision(verb, nil))
			n.await(map[string]string{"abort": "deploy failed", "deleted": "available"}[verb])
		}
	})
}
