package worker

import (
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"go.temper.dev/temper/internal/text"
	"go.temper.dev/temper/workflows"
)

const (
	// catchUp is how old a missed reconciliation may be that is still run. Temporal takes no less.
	catchUp = 10 * time.Second
	// reconcileTimeout ends a reconciliation that hangs, because no other one is started meanwhile.
	reconcileTimeout = time.Minute
)

// wantedSchedule returns the reconciliation's schedule as this version of Temper wants it. A pause and its note are
// kept from the state of the schedule that is there.
func wantedSchedule(interval time.Duration, have *schedulepb.ScheduleState) *schedulepb.Schedule {
	return &schedulepb.Schedule{
		Spec: &schedulepb.ScheduleSpec{Interval: []*schedulepb.IntervalSpec{{Interval: durationpb.New(interval)}}},
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{
			WorkflowId: workflows.ReconcileSchedule, WorkflowType: &commonpb.WorkflowType{Name: workflows.ReconcileType},
			TaskQueue:                &taskqueue.TaskQueue{Name: workflows.OrchestratorQueue, Kind: enums.TASK_QUEUE_KIND_NORMAL},
			WorkflowExecutionTimeout: durationpb.New(reconcileTimeout),
		}}},
		Policies: &schedulepb.SchedulePolicies{OverlapPolicy: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: durationpb.New(catchUp)},
		State:    &schedulepb.ScheduleState{Paused: have.GetPaused(), Notes: have.GetNotes()},
	}
}

// scheduleFlags returns the flags with which "temporal schedule create" and "update" make the wanted schedule.
func scheduleFlags(interval time.Duration, have *schedulepb.ScheduleState) string {
	flags := fmt.Sprintf("--interval %s --overlap-policy Skip --catchup-window %s --workflow-id %s --type %s --task-queue %s --execution-timeout %s",
		interval, catchUp, workflows.ReconcileSchedule, workflows.ReconcileType, workflows.OrchestratorQueue, reconcileTimeout)
	if have.GetPaused() {
		flags += " --paused --notes " + text.ShellWord(bounded(have.GetNotes()))
	}
	return flags
}
