package ironic_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestDeleteNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Delete("/v1/nodes/n1").Is(204)
	require.Equal(t, "Node n1 could not be found.", b.Get("/v1/nodes/n1").Fails(404))
	require.Equal(t, "Node n1 could not be found.", b.Delete("/v1/nodes/n1").Fails(404))

	b.In("active", node.Active)
	b.Delete("/v1/nodes/active").Fails(409)
	b.Put("/v1/nodes/active/maintenance", map[string]any{"reason": "burnt"}).Is(202)
	b.Delete("/v1/nodes/active").Is(204)

	b.In("protected", node.Active)
	b.Patch("/v1/nodes/protected", apitest.Replace("/protected", true)).Is(200)
	b.Put("/v1/nodes/protected/maintenance", nil).Is(202)
	b.Delete("/v1/nodes/protected").Fails(403)

	b.In("busy", node.Deploying)
	b.Put("/v1/nodes/busy/maintenance", nil).Is(202)
	require.Contains(t, b.Delete("/v1/nodes/busy").Fails(409), "is locked by host c1, please retry after the current operation is completed.")
	b.In("waiting", node.DeployWait)
	b.Delete("/v1/nodes/waiting").Fails(409)
	b.Put("/v1/nodes/waiting/maintenance", nil).Is(202)
	b.Delete("/v1/nodes/waiting").Is(204)
	told := b.Operations.Told()
	require.Len(t, told, 2, "that it is paused, and what ran to stop")
	require.Contains(t, told[1], "the node was deleted")
	ops, err := b.Store.Operations(context.Background(), node.OperationFilter{Phase: node.Ended})
	require.NoError(t, err)
	require.Len(t, ops, 1)
}

func TestANodeInMaintenanceThatNobodyWorksOnCanBeDeleted(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Operations.Err = fault.New(fault.Unavailable, "no Temporal")
	b.In("gone", node.Deploying)
	o := b.LastOperation("gone")
	b.Kill("c1", "c2")
	b.Delete("/v1/nodes/gone").Fails(409)
	b.Put("/v1/nodes/gone/maintenance", nil).Is(202)
	b.Delete("/v1/nodes/gone").Is(204)
	got, err := b.Store.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, node.Cancelled, got.Outcome)
	_, err = b.Store.Claim(t.Context(), o.ID, "run", node.Claim{Seq: 9, Attempt: 1}, time.Time{}, "c1")
	require.True(t, fault.Is(err, fault.Lost), "%v", err)
}
