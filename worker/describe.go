package worker

import (
	"context"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Describer asks Temporal how workflows are. It fits activities.Workflows.
type Describer struct{ Client client.Client }

// Status is the run's. Only Temporal's own "no such workflow" makes it unknown:
// a namespace that is not there, or silence, is fault.Unavailable.
func (d Describer) Status(ctx context.Context, workflowID, runID string) (node.RunStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := d.Client.DescribeWorkflowExecution(ctx, workflowID, runID)
	if notFound(err) {
		return node.RunStatus{}, nil
	}
	if err != nil {
		return node.RunStatus{}, fault.New(fault.Unavailable, "describe workflow %s: %w", workflowID, err)
	}
	info := r.GetWorkflowExecutionInfo()
	st := node.RunStatus{Known: true, Open: info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING}
	if !st.Open {
		st.How = ended(info.GetStatus())
		st.ClosedAt = info.GetCloseTime().AsTime()
	}
	return st, nil
}

// ended is how a run closed, in words that stand in the last error of its node.
func ended(s enums.WorkflowExecutionStatus) string {
	switch s {
	case enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return "timed out"
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return "cancelled"
	}
	return strings.ToLower(s.String())
}

// listPages bounds what is listed: 100,000 open workflows.
const listPages = 100

// Open are the runs of operations that Temporal lists as open.
func (d Describer) Open(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out := map[string]bool{}
	var next []byte
	for range listPages {
		page, err := d.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: "ExecutionStatus = 'Running'", PageSize: 1000, NextPageToken: next,
		})
		if err != nil {
			return nil, fault.New(fault.Unavailable, "list open workflows: %w", err)
		}
		for _, e := range page.GetExecutions() {
			out[e.GetExecution().GetRunId()] = true
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	return out, nil
}
