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
