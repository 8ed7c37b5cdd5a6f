package ironic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestDrivers(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	require.Equal(t, []any{}, b.Get("/v1/drivers").Is(200)["drivers"], "nothing is ready yet")
	b.WithConductors()
	b.Conductor("c3", "far", "redfish")
	drivers := b.Get("/v1/drivers").Is(200)["drivers"].([]any)
	require.Len(t, drivers, 2)
	redfish := drivers[1].(map[string]any)
	require.Equal(t, "redfish", redfish["name"])
	require.Equal(t, []any{"c1", "c2", "c3"}, redfish["hosts"])
	require.Equal(t, "dynamic", redfish["type"])
	require.NotContains(t, redfish, "default_power_interface")
	one := b.Get("/v1/drivers/redfish").Is(200)
	require.Equal(t, "redfish", one["default_power_interface"])
	require.Equal(t, []any{"direct", "ramdisk", "custom-agent", "autodetect"}, one["enabled_deploy_interfaces"])
	require.NotContains(t, b.At(29, "GET", "/v1/drivers/redfish", nil).Is(200), "type")
	require.NotContains(t, b.At(13, "GET", "/v1/drivers/redfish", nil).Is(200), "properties")
	require.Equal(t, []any{}, b.Get("/v1/drivers?type=classic").Is(200)["drivers"])
	require.Contains(t, b.Get("/v1/drivers?detail=true").Is(200)["drivers"].([]any)[0], "default_power_interface")
	require.ElementsMatch(t, []string{"name", "links"}, slices.Collect(maps.Keys(b.Get("/v1/drivers?fields=name").Is(200)["drivers"].([]any)[0].(map[string]any))))
	b.Get("/v1/drivers?type=odd").Fails(400)
	b.Get("/v1/drivers?fields=odd").Fails(400)
	b.At(76, "GET", "/v1/drivers?fields=name", nil).Fails(406)
	require.Equal(t, "Could not find the following driver(s) or hardware type(s): ipmi.", b.Get("/v1/drivers/ipmi").Fails(404))
	properties := b.Get("/v1/drivers/redfish/properties").Is(200)
	require.Contains(t, properties["redfish_address"], "URL or host of the BMC")
	require.Contains(t, properties["deploy_iso"], "Default: a CD that Temper makes for each boot")
	fake := b.Get("/v1/drivers/fake-hardware/properties").Is(200)
	require.Equal(t, "B1 description. Required.", fake["B1"])
	require.Contains(t, fake["force_persistent_boot_device"], "at every boot")
	b.Get("/v1/drivers/ipmi/properties").Fails(404)
}

func TestThePropertiesOfLogicalDisks(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	const path = "/v1/drivers/fake-hardware/raid/logical_disk_properties"
	names := slices.Sorted(maps.Keys(b.Get(path).Is(200)))
	require.Equal(t, []string{
		"controller", "disk_type", "interface_type", "is_root_volume", "number_of_physical_disks", "physical_disks",
		"raid_level", "share_physical_disks", "size_gb", "volume_name",
	}, names, "those of Ironic (drivers/raid_config_schema.json)")
	b.At(12, "GET", path, nil).Is(200)
	b.At(11, "GET", path, nil).Fails(406)
	b.Conductor("of-ipmi", "", "ipmi")
	require.Equal(t, "Driver ipmi does not support raid (disabled or not implemented).", b.Get("/v1/drivers/ipmi/raid/logical_disk_properties").Fails(404))
	require.Contains(t, b.Get("/v1/drivers/nonesuch/raid/logical_disk_properties").Fails(404), "nonesuch")
}

// tiny is a hardware type that can't boot a ramdisk. This entry is all that the API needs to
// know of it.
var tiny = func() node.HardwareType {
	fake, _ := node.Hardware("fake-hardware")
	h := node.HardwareType{
		Name: "tiny", Properties: []node.Property{{Name: "tiny_address", About: "Where it is."}},
		Implementations: map[string][]node.Implementation{
			"power":      {{Name: "tiny", Means: node.MeansBMC}},
			"management": {{Name: "tiny", Means: node.MeansBMC}},
			"deploy":     fake.Implementations["deploy"][1:2],
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
	t.Parallel()
	b := apitest.New(t)
	b.Conductor("c1", "", tiny.Name)
	require.Equal(t, map[string]any{"tiny_address": "Where it is."}, b.Get("/v1/drivers/tiny/properties").Is(200))
	require.Equal(t, []any{"no-boot"}, b.Get("/v1/drivers/tiny").Is(200)["enabled_boot_interfaces"])

	uuid := b.Post("/v1/nodes", map[string]any{"driver": tiny.Name, "name": "n1"}).Is(201)["uuid"].(string)
	verdicts := b.Get("/v1/nodes/n1/validate").Is(200)
	require.Equal(t, map[string]any{"result": true}, verdicts["power"])
	for _, i := range []string{"boot", "inspect", "raid"} {
		require.Equal(t, map[string]any{
			"result": false, "code": "not_supported", "reason": "Driver tiny does not support " + i + " (disabled or not implemented).",
		}, verdicts[i])
	}
	b.MoveTo(uuid, node.Manageable)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "inspect"}).Fails(400)
	require.Contains(t, b.Last.Fails(400), "Driver tiny does not support inspect (disabled or not implemented).")
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "provide"}).Fails(400),
		"Driver tiny does not support boot (disabled or not implemented).", "cleaning needs the agent")
	b.Put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).Is(202)
}
