package ironic_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestPatchesOfPortsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	id := b.Post("/v1/ports", map[string]any{"node_uuid": n1, "address": apitest.MAC}).Is(201)["uuid"].(string)
	b.At(18, "PATCH", "/v1/ports/"+id, []apitest.Op{apitest.Replace("/pxe_enabled", true)}).Fails(406)
	b.Patch("/v1/ports/"+id, apitest.Replace("/uuid", uuid.NewString())).Fails(400)
	b.Patch("/v1/ports/"+id, apitest.Replace("/node_uuid", uuid.NewString())).Fails(400)
	b.Patch("/v1/ports/"+id, apitest.Remove("/address")).Fails(400)

	b.MoveTo(n1, node.Active)
	require.Contains(t, b.Patch("/v1/ports/"+id, apitest.Replace("/address", "52:54:00:00:00:03")).Fails(409), "Cannot update hardware address for port")
	require.Contains(t, b.Patch("/v1/ports/"+id, apitest.Replace("/pxe_enabled", false)).Fails(409), "connectivity attributes")
	b.Patch("/v1/ports/"+id, apitest.Add("/extra/a", 1)).Is(200)
	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	b.Patch("/v1/ports/"+id, apitest.Replace("/address", "52:54:00:00:00:03")).Is(200)
}
