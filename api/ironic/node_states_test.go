package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestStatesAsOlderVersionsKnowThem(t *testing.T) {
	b := apitest.New(t).WithConductors()
	old := b.At(10, "POST", "/v1/nodes", map[string]any{"driver": "fake-hardware"}).Is(201)
	require.Equal(t, "available", old["provision_state"])
	uuid := old["uuid"].(string)
	require.Nil(t, b.At(1, "GET", "/v1/nodes/"+uuid, nil).Is(200)["provision_state"])
	require.Nil(t, b.At(1, "GET", "/v1/nodes/"+uuid+"/states", nil).Is(200)["provision_state"])
	require.Equal(t, "available", b.At(2, "GET", "/v1/nodes/"+uuid, nil).Is(200)["provision_state"])
	require.Equal(t, "enroll", b.At(11, "POST", "/v1/nodes", map[string]any{"driver": "fake-hardware"}).Is(201)["provision_state"])

	waiting := b.In("n1", node.InspectWait)
	require.Equal(t, "inspecting", b.At(38, "GET", "/v1/nodes/"+waiting, nil).Is(200)["provision_state"])
	require.Equal(t, "inspect wait", b.At(39, "GET", "/v1/nodes/"+waiting, nil).Is(200)["provision_state"])
}
