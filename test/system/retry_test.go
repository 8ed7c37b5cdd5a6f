package system_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// retry retries an operation that has ended, and returns the new one.
func (n *node) retry(id string) string {
	n.t.Helper()
	return n.accepted(n.s.must(n.t, http.StatusAccepted, http.MethodPost, "/temper/v1/operations/"+id+"/retry", map[string]any{"reason": "once more"}))
}

func TestADeployThatFailedIsRetried(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "wrong_checksum", Count: 1})
	id := n.provision("active", nil)
	n.deployFailed(id, "Image failed to verify")
	next := n.retry(id)
	require.NotEqual(t, id, next)
	n.deployed(next, digest(t, s.rack))
	var o struct {
		RetryOf *string `json:"retry_of"`
	}
	require.NoError(t, s.read("/temper/v1/operations/"+next, &o))
	require.Equal(t, id, text(o.RetryOf))
	a := s.must(t, http.StatusBadRequest, http.MethodPost, "/temper/v1/operations/"+id+"/retry", map[string]any{})
	require.Contains(t, a.Words(), `while it is in state "active"`)
}

// reset resets an operation's workflow, as the button in Temporal's UI does, to before its task of that number.
func (n *node) reset(id string, task int) {
	n.t.Helper()
	o, err := n.operation(id)
	require.NoError(n.t, err)
	c := n.s.temporal(n.t)
	var at []int64
	it := c.GetWorkflowHistory(n.t.Context(), o.WorkflowID, text(o.RunID), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		require.NoError(n.t, err)
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			at = append(at, e.GetEventId())
		}
	}
	require.Greater(n.t, len(at), task)
	_, err = c.ResetWorkflowExecution(n.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: n.s.TemporalNamespace, RequestId: "reset-" + id, Reason: "somebody pressed the button",
		WorkflowExecution:         &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID, RunId: text(o.RunID)},
		WorkflowTaskFinishEventId: at[task],
	})
	require.NoError(n.t, err)
}

var errNotYet = errors.New("not yet")

// rests waits until the workflow of an operation has a second task behind it: it waits on a timer.
func (n *node) rests(id string) error {
	o, err := n.operation(id)
	if err != nil {
		return err
	}
	tasks := 0
	it := n.s.temporal(n.t).GetWorkflowHistory(n.t.Context(), o.WorkflowID, text(o.RunID), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			return err
		}
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks++
		}
	}
	if tasks < 2 {
		return errNotYet
	}
	return nil
}

// A running workflow that is reset goes on at the row's step, once nothing of the run before can act any more.
func TestAWorkflowThatIsResetInTheMiddleGoesOn(t *testing.T) {
	t.Parallel()
	s := world(t)
	for name, task := range map[string]int{"to its beginning": 0, "to where it waits": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := available(t, s, s.rack)
			n.spoil(fault{Kind: "no_agent"})
			id := n.provision("active", nil)
			n.await("wait call-back")
			eventually(t, patience, func() error { return n.rests(id) })
			before, err := n.operation(id)
			require.NoError(t, err)
			n.reset(id, task)
			eventually(t, patience, func() error {
				now, err := n.operation(id)
				if err == nil && text(now.RunID) == text(before.RunID) {
					err = errNotYet
				}
				return err
			})
			n.spoil()
			require.Equal(t, id, n.power("power off"))
			eventually(t, patience, func() error { return n.waits("power off") })
			require.Equal(t, id, n.power("power on"))
			n.deployed(id, digest(t, s.rack))
		})
	}
}

// A workflow that has ended and is reset retries its operation: the same as temper operation retry.
func TestAClosedWorkflowThatIsResetIsARetry(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "wrong_checksum", Count: 1})
	id := n.provision("active", nil)
	n.deployFailed(id, "Image failed to verify")
	n.reset(id, 0)
	var all struct {
		Operations []operation `json:"operations"`
	}
	eventually(t, patience, func() error {
		err := s.read("/temper/v1/operations?kind=deploy&limit=1&node="+n.uuid, &all)
		if err == nil && all.Operations[0].ID == id {
			err = errNotYet
		}
		return err
	})
	n.deployed(all.Operations[0].ID, digest(t, s.rack))
	first, err := n.operation(id)
	require.NoError(t, err)
	require.Equal(t, "failed", text(first.Outcome), "what has ended stays so")
}
