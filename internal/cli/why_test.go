package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
)

// What to do is found at a glance, and a command can be copied with its line.
func TestWhatToDoIsOnLinesOfItsOwn(t *testing.T) {
	require.Equal(t, "Node n1 is deploy failed. No answer.\nWhat to do: Check it. Then retry.\nYou can:\n  temper bmc probe B\n  temper operation retry 7\n", whyInLines(&client.Why{
		Text:     "Node n1 is deploy failed. No answer. What to do: Check it. Then retry. You can: temper bmc probe B; temper operation retry 7.",
		Commands: []string{"temper bmc probe B", "temper operation retry 7"},
	}))
	require.Equal(t, "Node n1 is active.\n", whyInLines(&client.Why{Text: "Node n1 is active."}))
}
