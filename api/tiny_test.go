package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// tiny is a hardware type that can't boot a ramdisk: all that the API has to know of it
// is this entry.
var tiny = func() node.HardwareType {
	fake, _ := node.Hardware("fake-hardware")
	h := node.HardwareType{
		Name: "tiny", Properties: []node.Property{{Name: "tiny_address", About: "Where it is."}},
		Implementations: map[string][]node.Implementation{
			"power":      {{Name: "tiny", Means: node.MeansBMC}},
			"management": {{Name: "tiny", Means: node.MeansBMC}},
			"deploy":     fake.Implementations["deploy"][1:],
		},
	}
	for _, i := range node.Interfaces {
		if h.Implementations[i] == nil {
			h.Implementations[i] = []node.Implementation{{Name: "no-" + i}}
		}
	}
	node.RegisterHardware(h)
	return h
}()

func TestADriverThatLacksSomethingSaysSo(t *testing.T) {
	b := newBench(t)
	b.conductor("c1", "", tiny.Name)
	require.Equal(t, map[string]any{"tiny_address": "Where it is."}, b.get("/v1/drivers/tiny/properties").is(200))
	require.Equal(t, []any{"no-boot"}, b.get("/v1/drivers/tiny").is(200)["enabled_boot_interfaces"])

	uuid := b.post("/v1/nodes", map[string]any{"driver": tiny.Name, "name": "n1"}).is(201)["uuid"].(string)
	verdicts := b.get("/v1/nodes/n1/validate").is(200)
	require.Equal(t, map[string]any{"result": true}, verdicts["power"])
	for _, i := range []string{"boot", "inspect", "raid"} {
		require.Equal(t, map[string]any{
			"result": false, "code": "not_supported", "reason": "Driver tiny does not support " + i + " (disabled or not implemented).",
		}, verdicts[i])
	}
	b.moveTo(uuid, node.Manageable)
	b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "inspect"}).fails(400)
	require.Contains(t, b.last.fails(400), "Driver tiny does not support inspect (disabled or not implemented).")
	require.Contains(t, b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "provide"}).fails(400),
		"Driver tiny does not support boot (disabled or not implemented).", "cleaning needs the agent")
	b.put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).is(202)
}
