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
			{"operation.waiting", "", map[string]any{"waiting_for": "the agent", "waiting_until": "2026-01-02T03:04:05.06+00:00"}},
		}},
		"it is blocked": {func(o *Operation) { o.Phase, o.Blocked, o.WaitingFor = Waiting, BlockedNoConductor, "a conductor" }, []Told{
			{"operation.waiting", "", map[string]any{"waiting_for": "a conductor", "stalled": BlockedNoConductor}},
		}},
		"a step fails, and it holds": {func(o *Operation) {
			s := &o.Steps[0]
			s.State, s.Failures, s.LastError, s.Cause = StepFailed, 1, "no", fault.BMCWrongPassword
			o.Phase, o.Error, o.Cause = Holding, "no", fault.BMCWrongPassword
		}, []Told{
			{"step.failed", fault.BMCWrongPassword, map[string]any{
				"step": "deploy", "interface": "deploy", "index": 0, "step_state": StepFailed, "attempts": 1, "failures": 1, "conductor": "c1", "error": "no",
			}},
			{"operation.holding", fault.BMCWrongPassword, map[string]any{"error": "no"}},
		}},
		"a step ends, and the next one begins": {func(o *Operation) {
			o.Steps[0].State = StepDone
			o.Steps = append(o.Steps, Step{Index: 1, Step: "boot", Interface: "deploy", State: StepRunning, Attempts: 1})
		}, []Told{
			{"step.ended", "", map[string]any{"step": "deploy", "interface": "deploy", "index": 0, "step_state": StepDone, "attempts": 1, "conductor": "c1"}},
			{"step.begun", "", map[string]any{"step": "boot", "interface": "deploy", "index": 1, "step_state": StepRunning, "attempts": 1}},
		}},
		"somebody asks, maintenance begins": {func(o *Operation) { o.Paused, o.Asked, o.AskedBy = true, AskCancel, "ann" }, []Told{
			{"operation.asked", "", map[string]any{"asked": AskCancel, "by": "ann"}},
			{"operation.paused", "", map[string]any{"paused_by": "maintenance"}},
		}},
		"a decision": {func(o *Operation) {
			o.Decisions = []DecisionRecord{{Action: ActionRetry, By: "ann", Step: "deploy.deploy"}}
		}, []Told{
			{"operation.decided", "", map[string]any{"action": ActionRetry, "by": "ann", "step": "deploy.deploy"}},
		}},
		"a request for the power ends": {func(o *Operation) { o.Phase, o.Outcome, o.EndedAt, o.PowerTarget = Ended, Succeeded, &now, PowerOn }, []Told{
			{"operation.ended", "", map[string]any{"outcome": Succeeded}},
			{"baremetal.node.power_set.end", "", map[string]any{"to_power": PowerOn}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			after := before.Snapshot()
			c.change(&after)
			require.Equal(t, c.told, after.Tell(&before))
		})
	}
	heard := before.Snapshot()
	heard.Paused, heard.Asked, heard.Steps[0].State = true, AskCancel, StepDone
	require.Len(t, heard.TellSave(before), 1, "who paused it has told so")
}
