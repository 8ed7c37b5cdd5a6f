package temper_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

func TestAPersonWaivesWhatANodeOwes(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployFailed)
	path := "/temper/v1/nodes/n1/waive"
	require.Contains(t, b.Post(path, map[string]any{"reason": "x"}).Fails(409), "owes nothing")
	b.SQL(`UPDATE nodes SET owed = '["eject media"]', owed_error = 'eject: 400', owed_refused = true,
		last_error = 'no disk; what it left is still to be undone: eject: 400'`)
	info := b.Get("/v1/nodes/n1").Is(200)["driver_internal_info"].(map[string]any)
	require.Equal(t, []any{"eject media"}, info["temper_owed"])
	require.Equal(t, "eject: 400", info["temper_owed_error"])
	why := b.Get("/temper/v1/nodes/n1/why").Is(200)
	require.Contains(t, why["text"], "still to be undone: eject: 400. The hardware refused the undo of earlier work: eject media. It is tried again when")
	require.Contains(t, why["commands"], "temper node waive n1 --reason WHY")

	for _, in := range []map[string]any{{}, {"reason": " "}, {"reason": 7}, {"reason": strings.Repeat("x", 5000)}, {"reason": "x", "by": "y"}} {
		b.Post(path, in).Fails(400)
	}
	b.Post("/temper/v1/nodes/nobody/waive", map[string]any{"reason": "x"}).Fails(404)
	out := b.Post(path, map[string]any{"reason": "the drive is broken"}).Is(200)
	require.Equal(t, []any{"eject media"}, out["waived"])
	require.Nil(t, out["operation"])
	n := b.Get("/v1/nodes/n1").Is(200)
	require.NotContains(t, n["driver_internal_info"], "temper_owed")
	require.Equal(t, "no disk; what it left was waived by anonymous: the drive is broken", n["last_error"])
	require.NotContains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["commands"], "temper node waive n1 --reason WHY")
}

// Waiving an undo that is being done right now also stops it.
func TestAWaiverStopsTheUndoThatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployFailed)
	b.SQL(`UPDATE nodes SET owed = '["eject media"]'`)
	steps, err := plan.Steps(node.KindUndo, &node.Node{}, nil, plan.Options{})
	require.NoError(t, err)
	ops, err := b.Store.OpenUndos(t.Context(), steps, "reconciliation", 0, 1)
	require.NoError(t, err)
	require.Len(t, ops, 1)
	out := b.Post("/temper/v1/nodes/n1/waive", map[string]any{"reason": "done by hand"}).Is(200)
	require.Equal(t, []any{"eject media"}, out["waived"])
	o, err := b.Store.Operation(t.Context(), ops[0].ID)
	require.NoError(t, err)
	require.Equal(t, node.AskCancel, o.Asked)
	require.Equal(t, "done by hand", o.AskedReason)
}
