package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// The time for answers "later" begins anew after a time in which nothing was asked.
func TestAnswersThatSayLaterAreForgottenWhileNothingIsAsked(t *testing.T) {
	now := time.Now()
	for name, goOn := range map[string]func(*testing.T, *node.Operation){
		"what it waited for is there": func(t *testing.T, o *node.Operation) { require.True(t, o.Arrive()) },
		"it was blocked": func(t *testing.T, o *node.Operation) {
			require.NoError(t, o.Block(node.BlockedMaintenance, "paused: maintenance", nil, now))
			require.NoError(t, o.Block(node.NotBlocked, "", nil, now))
		},
		"it was paused in Temporal": func(t *testing.T, o *node.Operation) {
			o.TemporalPause = &node.Pause{What: node.PauseOfWorkflow, At: now}
			require.True(t, o.Resume(now))
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &node.Operation{Phase: node.Waiting, WaitingFor: "the agent", Steps: []node.Step{{State: node.StepWaiting, BusySince: &now}}}
			goOn(t, o)
			require.Nil(t, o.Steps[0].BusySince)
		})
	}
}

// Time in which an operation can't go on is no time in which its agent could have called. The end of that wait is told once.
func TestTheEndOfTheWaitForTheAgentMovesWithTheTimeThatIsLeft(t *testing.T) {
	now := time.Now()
	until, within := now.Add(10*time.Minute), time.Hour
	o := &node.Operation{
		Phase: node.Waiting, WaitingFor: "the agent's call after boot", WaitingUntil: &until, Steps: []node.Step{{State: node.StepWaiting}},
		StepWait: &node.Wait{For: node.WaitCall, Since: now, Until: &until},
	}
	require.NoError(t, o.Block(node.BlockedNoConductor, "a conductor", &within, now.Add(time.Minute)))
	require.NoError(t, o.Block(node.NotBlocked, "", nil, now.Add(6*time.Minute)))
	require.WithinDuration(t, now.Add(15*time.Minute), *o.WaitingUntil, 0)
	require.Equal(t, o.WaitingUntil, o.StepWait.Until)
	o.TemporalPause = &node.Pause{What: node.PauseOfWorkflow, At: now.Add(7 * time.Minute)}
	require.True(t, o.Resume(now.Add(9*time.Minute)))
	require.WithinDuration(t, now.Add(17*time.Minute), *o.WaitingUntil, 0)
	require.Equal(t, o.WaitingUntil, o.StepWait.Until)
	require.WithinDuration(t, now.Add(10*time.Minute), until, 0, "what others hold is left alone")
}
