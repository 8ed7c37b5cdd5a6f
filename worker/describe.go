package worker

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
	"go.temper.dev/temper/workflows"
)

// Describer reads the status of workflows from Temporal. It implements activities.WorkflowDescriber.
type Describer struct{ Client client.Client }

// Status returns the status of o's run, or of the newest run of its workflow if o.RunID is
// empty. A run is unknown only if Temporal itself says that there is no such workflow, or if the
// workflow is not o's. If the namespace is missing, Temporal does not answer or its status is not
// one this version knows, the error is fault.Unavailable, and the run may still be open.
func (d Describer) Status(ctx context.Context, o *node.Operation) (node.RunStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	st, next, err := d.describe(ctx, o, o.RunID)
	if err != nil || !next {
		return st, err
	}
	// Another run of the same workflow continues the work. It may have continued as new in
	// turn, so the newest run is described.
	newest, next, err := d.describe(ctx, o, "")
	if err == nil && next {
		err = fault.New(fault.Unavailable, "workflow %s continues as new at this moment", o.WorkflowID)
	}
	return newest, err
}

// describe asks about one run. continued reports whether the run continued as new; its
// status is then that of its successor.
func (d Describer) describe(ctx context.Context, o *node.Operation, runID string) (st node.RunStatus, continued bool, err error) {
	r, err := d.Client.DescribeWorkflowExecution(ctx, o.WorkflowID, runID)
	if notFound(err) {
		return st, false, nil
	}
	if err != nil {
		return st, false, fault.New(fault.Unavailable, "describe workflow %s: %w", o.WorkflowID, err)
	}
	info := r.GetWorkflowExecutionInfo()
	if runID == "" && !owns(o, info) { // the row has a run only if that was the operation's
		return node.RunStatus{Foreign: foreignWords(info)}, false, nil
	}
	v, known := statuses[info.GetStatus()]
	if !known {
		return st, false, fault.New(fault.Unavailable, "workflow %s has the status %q in Temporal, which this version of Temper does not know", o.WorkflowID, info.GetStatus())
	}
	if v.continued {
		return st, true, nil
	}
	st = node.RunStatus{Known: true, Open: v.open, How: v.how}
	if st.Open {
		st.Pause = pauseOf(r)
		if id := info.GetExecution().GetRunId(); id != runID {
			st.RunID = id
		}
		return st, false, nil
	}
	st.ClosedAt = timeOf(info.GetCloseTime())
	return st, false, nil
}

// owns reports whether a workflow with the id of o's is o's: somebody can start any workflow under any id.
func owns(o *node.Operation, info *workflowpb.WorkflowExecutionInfo) bool {
	var operation string
	err := converter.GetDefaultDataConverter().FromPayload(info.GetMemo().GetFields()[memoOperation], &operation)
	return err == nil && operation == strconv.FormatInt(o.ID, 10) &&
		info.GetType().GetName() == o.Kind.Spec().Workflow && info.GetTaskQueue() == workflows.OrchestratorQueue
}

// foreignWords describes a workflow that is not the operation's, for people.
func foreignWords(info *workflowpb.WorkflowExecutionInfo) string {
	return fmt.Sprintf("workflow %s of type %q on task queue %q, started at %s", text.Storable(info.GetExecution().GetWorkflowId(), maxForeign),
		text.Storable(info.GetType().GetName(), maxForeign), text.Storable(info.GetTaskQueue(), maxForeign), text.Moment(timeOf(info.GetStartTime())))
}

// maxForeign bounds each name that a stranger gave, in bytes.
const maxForeign = 255

// timeOf returns the zero time for a missing timestamp, which would otherwise read as
// the year 1970.
func timeOf(ts *timestamppb.Timestamp) time.Time {
	if !ts.IsValid() || ts.GetSeconds() <= 0 {
		return time.Time{}
	}
	return ts.AsTime()
}

// statusMeaning is what a status in Temporal means for an operation's run.
type statusMeaning struct {
	open      bool
	continued bool   // its successor has the status
	how       string // of a closed run: how it ended, for the last error of its node
}

// statuses has every known status. Any other one is an error.
var statuses = map[enums.WorkflowExecutionStatus]statusMeaning{
	enums.WORKFLOW_EXECUTION_STATUS_RUNNING:          {open: true},
	enums.WORKFLOW_EXECUTION_STATUS_PAUSED:           {open: true},
	enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: {continued: true},
	enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:        {how: node.RunCompleted},
	enums.WORKFLOW_EXECUTION_STATUS_FAILED:           {how: "failed"},
	enums.WORKFLOW_EXECUTION_STATUS_CANCELED:         {how: "cancelled"},
	enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:       {how: node.RunTerminated},
	enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:        {how: node.RunTimedOut},
}

// pauseOf returns the pause of an open run or of the activity that it waits for, nil if
// neither is paused. An operation's workflow has one activity at a time.
func pauseOf(r *workflowservice.DescribeWorkflowExecutionResponse) *node.Pause {
	if r.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_PAUSED {
		p := r.GetWorkflowExtendedInfo().GetPauseInfo()
		return &node.Pause{What: node.PauseOfWorkflow, At: timeOf(p.GetPausedTime()), By: p.GetIdentity(), Reason: p.GetReason()}
	}
	for _, a := range r.GetPendingActivities() {
		if !a.GetPaused() {
			continue
		}
		p := a.GetPauseInfo()
		return &node.Pause{
			What: node.PauseOfActivity, Activity: a.GetActivityId(), At: timeOf(p.GetPauseTime()),
			By:     cmp.Or(p.GetManual().GetIdentity(), p.GetRule().GetIdentity()),
			Reason: cmp.Or(p.GetManual().GetReason(), p.GetRule().GetReason()),
		}
	}
	return nil
}

// maxListPages bounds what is listed: 100,000 open workflows.
const maxListPages = 100

// pauseAttribute is the search attribute that Temporal sets while something of a
// workflow is paused.
const pauseAttribute = "TemporalPauseInfo"

// Open returns the ids of the runs that Temporal lists as running and not paused, and of their
// workflows. Paused ones have to be described.
func (d Describer) Open(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out := map[string]bool{}
	var next []byte
	for range maxListPages {
		page, err := d.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: "ExecutionStatus = 'Running'", PageSize: 1000, NextPageToken: next,
		})
		if err != nil {
			return nil, fault.New(fault.Unavailable, "list open workflows: %w", err)
		}
		for _, e := range page.GetExecutions() {
			if !mayBePaused(e) {
				out[e.GetExecution().GetRunId()], out[e.GetExecution().GetWorkflowId()] = true, true
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	return out, nil
}

// mayBePaused reports whether Temporal lists a run as one in which something is paused.
// If that can't be read, it is true.
func mayBePaused(e *workflowpb.WorkflowExecutionInfo) bool {
	p, there := e.GetSearchAttributes().GetIndexedFields()[pauseAttribute]
	var what []string
	return there && (converter.GetDefaultDataConverter().FromPayload(p, &what) != nil || len(what) > 0)
}
