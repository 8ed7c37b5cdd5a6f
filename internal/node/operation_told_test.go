package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

func TestAChangeOfAnOperationIsTold(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 60_000_000, time.UTC)
	before := Operation{
		Phase: Running, Conductor: "c1", BegunAt: &now,
		Steps: []Step{{Step: "deploy", Interface: "deploy", State: StepRunning, Attempts: 1, Conductor: "c1", Args: map[string]any{"password": "hunter2"}}},
	}
	for name, c := range map[string]struct {
		change func(*Operation)
		told   []Told
	}{
		"nothing": {func(*Operation) {}, nil},
		"it waits": {func(o *Operation) { o.Phase, o.WaitingFor, o.WaitingUntil = Waiting, "the agent", &now }, []Told{
			{Type: "operation.waiting", Data: map[string]any{"waiting_for": "the agent", "waiting_until": "2026-01-02T03:04:05.06+00:00"}, Entry: &TimelineEntry{Seq: 1, What: TimelineWaiting, Words: "the agent"}},
		}},
		"it is blocked": {func(o *Operation) { o.Phase, o.Blocked, o.WaitingFor = Waiting, BlockedNoConductor, "a conductor" }, []Told{
			{Type: "operation.waiting", Data: map[string]any{"waiting_for": "a conductor", "stalled": BlockedNoConductor}, Entry: &TimelineEntry{Seq: 1, What: TimelineBlocked, Words: "a conductor"}},
		}},
		"a step fails, and it holds": {func(o *Operation) {
			s := &o.Steps[0]
			s.State, s.Failures, s.LastError, s.Cause = StepFailed, 1, "no", fault.BMCWrongPassword
			o.Phase, o.Error, o.Cause = Holding, "no", fault.BMCWrongPassword
		}, []Told{
			{Type: "step.failed", Cause: fault.BMCWrongPassword, Data: map[string]any{
				"step": "deploy", "interface": "deploy", "index": 0, "step_state": StepFailed, "attempts": 1, "failures": 1, "conductor": "c1", "error": "no",
			}},
			{Type: "operation.holding", Cause: fault.BMCWrongPassword, Data: map[string]any{"error": "no"}, Entry: &TimelineEntry{Seq: 1, What: TimelineHeld, Step: "deploy.deploy", Conductor: "c1", Words: "no"}},
		}},
		"a step ends, and the next one begins": {func(o *Operation) {
			o.Steps[0].State = StepDone
			o.Steps = append(o.Steps, Step{Index: 1, Step: "boot", Interface: "deploy", State: StepRunning, Attempts: 1})
		}, []Told{
			{Type: "step.ended", Data: map[string]any{"step": "deploy", "interface": "deploy", "index": 0, "step_state": StepDone, "attempts": 1, "conductor": "c1"}},
			{Type: "step.begun", Data: map[string]any{"step": "boot", "interface": "deploy", "index": 1, "step_state": StepRunning, "attempts": 1}},
		}},
		"somebody asks, maintenance begins": {func(o *Operation) { o.Paused, o.Asked, o.AskedBy = true, AskCancel, "ann" }, []Told{
			{Type: "operation.asked", Data: map[string]any{"asked": AskCancel, "by": "ann"}, Entry: &TimelineEntry{Seq: 1, What: TimelineAsked, By: "ann", Words: "cancel"}},
			{Type: "operation.paused", Data: map[string]any{"paused_by": "maintenance"}},
		}},
		"a decision": {func(o *Operation) {
			o.Decisions = []DecisionRecord{{Action: ActionRetry, By: "ann", Step: "deploy.deploy"}}
		}, []Told{
			{Type: "operation.decided", Data: map[string]any{"action": ActionRetry, "by": "ann", "step": "deploy.deploy"}, Entry: &TimelineEntry{Seq: 1, What: TimelineDecided, Step: "deploy.deploy", By: "ann", Words: "retry"}},
		}},
		"a request for the power ends": {func(o *Operation) { o.Phase, o.Outcome, o.EndedAt, o.PowerTarget = Ended, Succeeded, &now, PowerOn }, []Told{
			{Type: "operation.ended", Data: map[string]any{"outcome": Succeeded}},
			{Type: "baremetal.node.power_set.end", Data: map[string]any{"to_power": PowerOn}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			after := before.Snapshot()
			c.change(&after)
			require.Equal(t, c.told, after.Tell(&before))
		})
	}
	booted := before.Snapshot()
	booted.Phase, booted.WaitingFor = Waiting, "the agent"
	told := booted.TellSave(before, []News{{What: TimelineBoot}})
	require.Equal(t, []TimelineWhat{TimelineBoot, TimelineWaiting}, []TimelineWhat{told[0].Entry.What, told[1].Entry.What}, "in the order of the timeline")
	require.Len(t, told, 2)

	heard := before.Snapshot()
	heard.Paused, heard.Asked, heard.Steps[0].State = true, AskCancel, StepDone
	require.Len(t, heard.TellSave(before, nil), 1, "who paused it has told so")
}
