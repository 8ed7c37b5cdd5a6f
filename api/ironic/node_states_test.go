package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestTheStatesOfANodeAreItsFields(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.SQL(`UPDATE nodes SET power_state = 'power on', last_error = 'no disk', boot_mode = 'uefi'`)
	const path = "/v1/nodes/n1/states"
	whole, states := b.Get("/v1/nodes/n1").Is(200), b.Get(path).Is(200)
	for field, value := range states {
		require.Equal(t, whole[field], value, field)
	}
	for field, want := range map[string]any{
		"power_state": "power on", "provision_state": "deploying", "target_provision_state": "active", "last_error": "no disk", "boot_mode": "uefi",
	} {
		require.Equal(t, want, states[field], field)
	}
	for minor, fields := range map[int]int{11: 7, 12: 9, 74: 9, 75: 11} {
		require.Len(t, b.At(minor, "GET", path, nil).Is(200), fields, "1.%d", minor)
	}
	b.Get(path + "?colour=red").Fails(400)
	b.Get("/v1/nodes/nosuch/states").Fails(404)
}

func TestStatesAsOlderVersionsKnowThem(t *testing.T) {
	t.Parallel()
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
