package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestValidate(t *testing.T) {
	b := apitest.New(t).WithConductors()
	b.Enrolled("fake")
	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "real"}).Is(201)
	for _, i := range node.Interfaces {
		require.Equal(t, map[string]any{"result": true}, b.Get("/v1/nodes/fake/validate").Is(200)[i], i)
	}
	body := b.Get("/v1/nodes/real/validate").Is(200)
	require.Len(t, body, 13)
	require.Equal(t, map[string]any{"result": false, "reason": "Missing redfish_address", "code": "validation_failed"}, body["power"])
	require.Equal(t, map[string]any{"result": false, "reason": "Driver redfish does not support rescue (disabled or not implemented).", "code": "not_supported"}, body["rescue"])
	require.Equal(t, map[string]any{"result": true}, body["network"])
	require.Equal(t, false, body["deploy"].(map[string]any)["result"])
	b.Get("/v1/nodes/nosuch/validate").Fails(404)
}
