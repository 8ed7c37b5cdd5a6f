package activities_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/node"
)

func TestATickThatFailsInPartTellsWhatItDid(t *testing.T) {
	t.Parallel()
	a := &archive{
		notBegun: []node.Operation{operation(7)}, asked: []node.Operation{{ID: 9, Asked: node.AskCancel}},
		refuses: errors.New("temporal is away"),
	}
	_, err := a.tick(t)
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	var did reconcile.TickResult
	require.NoError(t, failed.Details(&did))
	require.Len(t, did.Failed, 1)
	require.Contains(t, did.Failed[0], "operations: temporal is away")
	require.Contains(t, did.Details(), "failed: operations: temporal is away")
	require.NotEmpty(t, did.Took)
}
