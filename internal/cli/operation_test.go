package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
)

// Why somebody has ended an operation is told by the step that took so long.
func TestAStepThatWasEndedSaysWhyItTookSoLong(t *testing.T) {
	now := time.Now()
	o := &client.Operation{AcceptedAt: &now, EndedAt: &now, Steps: []client.Step{{Interface: "deploy", Step: "write_image", State: "cancelled", Cause: "image_server_slow"}}}
	require.Contains(t, stepTable(o, now).String(), "it took unusually long: The image server sends too slowly")
	o.Steps[0].State = "done"
	require.NotContains(t, stepTable(o, now).String(), "unusually long")
}

// How often a step may fail is told only as long as it is tried again, or has failed so often.
func TestAFailureThatIsNotTriedAgainHasNoLimit(t *testing.T) {
	for want, s := range map[string]client.Step{
		"1, 1 failed":      {State: "failed", Attempts: 1, Failures: 1, Limit: 5},
		"2, failed 1 of 5": {State: "running", Attempts: 2, Failures: 1, Limit: 5},
		"6, failed 5 of 5": {State: "failed", Attempts: 6, Failures: 5, Limit: 5},
		"1":                {State: "running", Attempts: 1, Limit: 5},
	} {
		require.Equal(t, want, describeAttempts(s))
	}
}
