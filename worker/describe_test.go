package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
	"go.temper.dev/temper/workflows"
)

// saying is a Temporal that returns a given description of each run; "" is the newest run.
type saying struct {
	client.Client
	runs map[string]*workflowpb.WorkflowExecutionInfo
}

func (s saying) DescribeWorkflowExecution(_ context.Context, _, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: own(s.runs[run])}, nil
}

// own makes info that of a workflow of operation 1, a deploy.
func own(info *workflowpb.WorkflowExecutionInfo) *workflowpb.WorkflowExecutionInfo {
	info.Type, info.TaskQueue = &commonpb.WorkflowType{Name: node.KindDeploy.Spec().Workflow}, workflows.OrchestratorQueue
	operation, err := converter.GetDefaultDataConverter().ToPayload("1")
	if err != nil {
		panic(err) // a string can be encoded
	}
	info.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{"operation": operation}}
	return info
}

// Every status of Temporal's API has the expected statusMeaning, and an unknown status has none.
func TestEachStatusOfTemporalHasAVerdict(t *testing.T) {
	const (
		open   = "open"
		closed = "closed"
		none   = "no statusMeaning"
	)
	want := map[enums.WorkflowExecutionStatus]string{
		enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED: none,
		enums.WORKFLOW_EXECUTION_STATUS_RUNNING:     open, enums.WORKFLOW_EXECUTION_STATUS_PAUSED: open, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: open,
		enums.WORKFLOW_EXECUTION_STATUS_COMPLETED: closed, enums.WORKFLOW_EXECUTION_STATUS_FAILED: closed, enums.WORKFLOW_EXECUTION_STATUS_CANCELED: closed,
		enums.WORKFLOW_EXECUTION_STATUS_TERMINATED: closed, enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT: closed,
		99: none,
	}
	all := []enums.WorkflowExecutionStatus{99}
	for number := range enums.WorkflowExecutionStatus_name {
		all = append(all, enums.WorkflowExecutionStatus(number))
	}
	for _, status := range all {
		statusMeaning, there := want[status]
		require.True(t, there, "Temporal has a new status, %s: what does it say of an operation?", status)
		newest := &workflowpb.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, Execution: &commonpb.WorkflowExecution{RunId: "r2"}}
		d := worker.Describer{Client: saying{runs: map[string]*workflowpb.WorkflowExecutionInfo{
			"r1": {Status: status, Execution: &commonpb.WorkflowExecution{RunId: "r1"}}, "": newest,
		}}}
		st, err := d.Status(t.Context(), &node.Operation{ID: 1, Kind: node.KindDeploy, WorkflowID: "node/x/deploy/1", RunID: "r1"})
		if statusMeaning == none {
			require.True(t, fault.Is(err, fault.Unavailable), "%s: %v", status, err)
			continue
		}
		require.NoError(t, err, status)
		require.True(t, st.Known, status)
		require.Equal(t, statusMeaning == open, st.Open, status)
		require.False(t, st.Over(time.Now(), time.Second), "%s: a close time that Temporal does not say is never long ago", status)
		require.Equal(t, status == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW, st.RunID == "r2", status)
		require.Equal(t, status == enums.WORKFLOW_EXECUTION_STATUS_PAUSED, st.Pause != nil, status)
		require.Equal(t, statusMeaning == closed, st.How != "", status)
	}
}

func TestARunIsOverWhenItHasBeenClosedForLong(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		newest *workflowpb.WorkflowExecutionInfo
		over   bool
	}{
		"closed a minute ago": {&workflowpb.WorkflowExecutionInfo{CloseTime: timestamppb.New(now.Add(-time.Minute))}, true},
		"closed just now":     {&workflowpb.WorkflowExecutionInfo{CloseTime: timestamppb.New(now)}, false},
		"closed at zero":      {&workflowpb.WorkflowExecutionInfo{CloseTime: &timestamppb.Timestamp{}}, false},
	} {
		for _, first := range []enums.WorkflowExecutionStatus{enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW} {
			c.newest.Status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
			runs := map[string]*workflowpb.WorkflowExecutionInfo{"": c.newest, "r1": c.newest}
			if first == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
				runs["r1"] = &workflowpb.WorkflowExecutionInfo{Status: first, CloseTime: timestamppb.New(now.Add(-time.Hour))}
			}
			st, err := worker.Describer{Client: saying{runs: runs}}.Status(t.Context(), &node.Operation{ID: 1, Kind: node.KindDeploy, WorkflowID: "node/x/deploy/1", RunID: "r1"})
			require.NoError(t, err)
			require.Equal(t, c.over, st.Over(now, 9*time.Second), "%s, %s", name, first)
		}
	}
	require.False(t, node.RunStatus{}.Over(now, 0), "one that is not known is not over: it may be lost")
}
