package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// ask is what the API writes when somebody asks for a power state.
func (b *book) ask(target node.PowerState) { b.op.Asked, b.op.AskedPower = node.AskPower, target }

func TestAPowerRequestThatComesWhileAStepRunsIsTheOneThatWasAskedFor(t *testing.T) {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, fakes, node.PlanOptions{})
	b.book.node.ProvisionState = node.DeployWait
	b.book.onSave = func(n int) {
		if n == 1 {
			b.book.ask(node.PowerOff)
		}
	}
	b.machine.power = bmc.PowerOn
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, node.AskNone, b.book.op.Asked)
	var names []string
	for _, s := range b.book.op.Steps {
		names = append(names, s.Name())
	}
	require.Contains(t, names, "power.off")
	require.NotContains(t, names, "power.on")
}

func TestSwitchingOnAServerThatIsOnEndsNoAgent(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		target node.PowerState
		agent  bool
	}{
		"on stays with it":         {node.PowerOn, true},
		"off forgets it":           {node.PowerOff, false},
		"a soft off, the same way": {node.SoftPowerOff, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOn, fakes, node.PlanOptions{})
			b.book.op.Steps = []node.Step{{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending}}
			b.book.node.PowerState = node.PowerOn
			b.book.node.Agent = &node.Agent{URL: "https://192.0.2.1:9999", FirstHeartbeatAt: &now, LastHeartbeatAt: &now}
			b.book.ask(c.target)
			_, err := b.run()
			require.NoError(t, err)
			require.Equal(t, c.agent, b.book.node.Agent != nil)
		})
	}
}

func TestAServerThatIsFoundOffIsSwitchedOnInsteadOfRestartedAlsoAfterACrash(t *testing.T) {
	for name, shows := range map[string]bmc.Power{"nothing was sent": bmc.PowerOff, "it was sent": bmc.PowerOn} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, shows, fakes, node.PlanOptions{})
			b.book.op.Steps = []node.Step{{
				Interface: "power", Step: "reset", Source: node.SourceCore, State: node.StepRunning,
				Issued: &node.Issued{At: time.Now(), Command: string(bmc.RequestOn)},
			}}
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, activities.NextClose, r.Next)
			require.Equal(t, bmc.PowerOn, b.machine.power)
			require.Empty(t, b.machine.pulses, "switched on is restarted enough")
		})
	}
}
