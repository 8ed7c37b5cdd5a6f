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
