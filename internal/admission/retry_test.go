package admission_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func direct(s node.State) *node.Node {
	return &node.Node{
		UUID: "u", Driver: "redfish", ProvisionState: s,
		Interfaces: map[string]string{"deploy": "direct", "boot": "redfish-virtual-media", "network": "noop", "raid": "fake"},
	}
}

// ended is an operation that was planned on n and has ended, with the named steps done and the one after them failed.
func ended(t *testing.T, n *node.Node, k node.OperationKind, asked []node.Step, done ...string) *node.Operation {
	t.Helper()
	steps, err := plan.Steps(k, n, asked, plan.Options{AutomatedClean: true})
	require.NoError(t, err)
	at := time.Now()
	o := &node.Operation{ID: 7, NodeUUID: n.UUID, Kind: k, EndedAt: &at, Phase: node.Ended, Outcome: node.Failed, Steps: steps, OnFailure: node.HoldOnFailure}
	for _, name := range done {
		for i := range o.Steps {
			if o.Steps[i].Step == name {
				o.Steps[i].State = node.StepDone
			}
		}
	}
	return o
}

func notes(steps []node.Step) map[string]string {
	out := map[string]string{}
	for _, s := range steps {
		if s.State == node.StepSkipped {
			out[s.Step] = s.Note
		}
	}
	return out
}

func TestARetryCarriesOverWhatLasts(t *testing.T) {
	raid := node.Step{Interface: "raid", Step: "apply_configuration", Priority: 90, Args: map[string]any{"raid_config": map[string]any{}}, Asked: true}
	n := direct(node.DeployFailed)
	old := ended(t, n, node.KindDeploy, []node.Step{raid}, "prepare", "deploy", "apply_configuration", "write_image")
	r, err := admission.Retry(n, old, true, "", plan.Options{})
	require.NoError(t, err)
	require.Equal(t, node.KindDeploy, r.Open.Kind)
	require.Equal(t, int64(7), r.Open.RetryOf)
	require.Equal(t, node.HoldOnFailure, r.Open.OnFailure)
	require.Equal(t, []node.Event{node.EventDeploy}, r.Move)
	require.Equal(t, map[string]string{"apply_configuration": "done by operation 7"}, notes(r.Open.Steps), "the frame and the image are done again")

	r, err = admission.Retry(n, old, false, "", plan.Options{})
	require.NoError(t, err)
	require.Empty(t, notes(r.Open.Steps), "the node was provisioned since")

	at := time.Now()
	r.Open.ID, r.Open.EndedAt, r.Open.Outcome = 8, &at, node.Failed
	r.Open.Steps = old.Steps
	for i := range r.Open.Steps {
		if r.Open.Steps[i].Step == "apply_configuration" {
			r.Open.Steps[i].State, r.Open.Steps[i].Note = node.StepSkipped, "done by operation 7"
		}
	}
	again, err := admission.Retry(n, r.Open, true, "", plan.Options{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"apply_configuration": "done by operation 7"}, notes(again.Open.Steps), "also by the retry of a retry")
}

func TestARetryDoesNotHaveTheAgentDoTwiceWhatItHasDone(t *testing.T) {
	n := direct(node.Manageable)
	old := ended(t, n, node.KindProvide, nil, "prepare_cleaning")
	offered := []plan.AgentStep{{Interface: "deploy", Step: "erase_devices", Priority: 10}, {Interface: "deploy", Step: "burnin_cpu", Priority: 5}}
	var err error
	old.Steps, err = plan.Merge(n, node.KindProvide, old.Steps, offered)
	require.NoError(t, err)
	for i := range old.Steps {
		switch old.Steps[i].Step {
		case "erase_devices":
			old.Steps[i].State = node.StepDone
		case "burnin_cpu":
			old.Steps[i].State = node.StepFailed
		}
	}
	r, err := admission.Retry(n, old, true, "", plan.Options{AutomatedClean: true})
	require.NoError(t, err)
	steps, err := plan.Merge(n, node.KindProvide, r.Open.Steps, offered)
	require.NoError(t, err)
	var names []string
	for _, s := range steps {
		names = append(names, s.Step+" "+string(s.State))
	}
	require.Equal(t, []string{"prepare_cleaning pending", "erase_devices skipped", "burnin_cpu pending", "tear_down_cleaning pending"}, names)
}

func TestARetryThatTheLifeCycleDoesNotAllowNamesTheState(t *testing.T) {
	n := direct(node.CleanFailed)
	old := ended(t, direct(node.Manageable), node.KindProvide, nil)
	_, err := admission.Retry(n, old, true, "", plan.Options{AutomatedClean: true})
	require.True(t, fault.Is(err, fault.NotAllowed), "%v", err)
	require.ErrorContains(t, err, `while it is in state "clean failed"`)

	n = direct(node.DeployFailed)
	old = ended(t, n, node.KindDeploy, nil)
	n.Operation = &node.Operation{ID: 9}
	_, err = admission.Retry(n, old, true, "c1", plan.Options{})
	require.True(t, fault.Is(err, fault.Conflict))
	n.Operation, old.EndedAt = nil, nil
	_, err = admission.Retry(n, old, true, "", plan.Options{})
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	old.EndedAt = new(time.Time)
	old.Kind = node.KindUndo
	_, err = admission.Retry(n, old, true, "", plan.Options{})
	require.True(t, fault.Is(err, fault.NotAllowed))
}

func TestAPowerChangeIsRetriedAsItWasAsked(t *testing.T) {
	n := direct(node.Active)
	at := time.Now()
	old := &node.Operation{ID: 7, Kind: node.KindPower, PowerTarget: node.SoftRebooting, SoftTimeout: time.Minute, EndedAt: &at, Outcome: node.Failed}
	r, err := admission.Retry(n, old, true, "", plan.Options{})
	require.NoError(t, err)
	require.Equal(t, node.KindPower, r.Open.Kind)
	require.Equal(t, time.Minute, r.Open.SoftTimeout)
	require.Len(t, r.Open.Steps, 2)
	require.Empty(t, r.Move)
}

func TestAPowerRequestThatFailedInAHoldCanBeLeftUndone(t *testing.T) {
	for _, target := range node.PowerTargets {
		for _, fixed := range []bool{false, true} {
			steps, err := plan.Steps(node.KindPower, &node.Node{DisablePowerOff: fixed}, nil, plan.Options{Power: target})
			require.NoError(t, err)
			for _, s := range steps {
				require.Equal(t, node.Actions, s.Choices(), s.Name())
			}
		}
	}
	verify, err := plan.Steps(node.KindManage, &node.Node{}, nil, plan.Options{})
	require.NoError(t, err)
	require.NotContains(t, verify[0].Choices(), node.ActionSkip)
}
