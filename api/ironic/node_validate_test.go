package ironic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestValidate(t *testing.T) {
	t.Parallel()
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

func TestTraitsOfTheInstanceAreCheckedForEveryDriver(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.In("n1", node.Available)
	const missing = "Cannot specify instance traits that are not also set on the node. Node %s is missing traits CUSTOM_A"
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/traits", []string{"CUSTOM_A"})).Is(200)
	require.Equal(t, map[string]any{"result": false, "reason": fmt.Sprintf(missing, id), "code": "validation_failed"}, b.Get("/v1/nodes/n1/validate").Is(200)["deploy"])
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Fails(400), fmt.Sprintf(missing, id))
	b.Put("/v1/nodes/n1/traits/CUSTOM_A", nil).Is(204)
	require.Equal(t, map[string]any{"result": true}, b.Get("/v1/nodes/n1/validate").Is(200)["deploy"])
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Is(202)
}

// With the boot interface no-boot nothing boots the agent, and the refusal says so.
func TestANodeThatBootsNoAgentIsNotDeployedAndSaysWhy(t *testing.T) {
	t.Parallel()
	const why = "It boots no ramdisk agent"
	b := apitest.New(t)
	b.Conductor("c1", "", "ipmi")
	uuid := b.Post("/v1/nodes", map[string]any{
		"driver": "ipmi", "name": "old", "inspect_interface": "agent", "boot_interface": "no-boot",
		"driver_info":   map[string]any{"ipmi_address": "192.0.2.7", "ipmi_password": "hunter2", "ipmi_hex_kg_key": "00"},
		"instance_info": map[string]any{"image_source": "http://images/disk.raw", "image_checksum": strings.Repeat("ab", 32)},
	}).Is(201)["uuid"].(string)
	info := b.Field("old", "driver_info").(map[string]any)
	require.Equal(t, "******", info["ipmi_password"])
	require.Equal(t, "******", info["ipmi_hex_kg_key"])

	body := b.Get("/v1/nodes/old/validate").Is(200)
	for _, ok := range []string{"power", "management"} {
		require.Equal(t, map[string]any{"result": true}, body[ok], ok)
	}
	for _, iface := range []string{"boot", "inspect"} {
		told := body[iface].(map[string]any)
		require.Equal(t, false, told["result"], iface)
		require.Contains(t, told["reason"], why, iface)
	}
	for verb, from := range map[string]node.State{"active": node.Available, "inspect": node.Manageable, "clean": node.Manageable} {
		b.MoveTo(uuid, from)
		request := map[string]any{"target": verb}
		if verb == "clean" {
			request["clean_steps"] = []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
		}
		require.Contains(t, b.Put("/v1/nodes/old/states/provision", request).Fails(400), why, verb)
		suggested := b.Get("/temper/v1/nodes/old/why").Is(200)["text"]
		require.NotContains(t, suggested, "temper node "+string(node.VerbOf(verb).Event), "what is refused is not suggested")
	}
	b.Put("/v1/nodes/old/states/power", map[string]any{"target": "power on"}).Is(202)
}

// A node that boots by network is found by the MACs of its ports.
func TestANodeThatBootsByNetworkNeedsAPort(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.Boot = node.BootSites{Default: node.BootSite{AgentURL: "http://10.0.0.5:6386"}} }).WithConductors()
	uuid := b.Post("/v1/nodes", map[string]any{
		"driver": "redfish", "boot_interface": "ipxe", "driver_info": map[string]any{"redfish_address": "https://10.0.0.1"},
	}).Is(201)["uuid"].(string)
	boot := func() map[string]any {
		return b.Get("/v1/nodes/" + uuid + "/validate").Is(200)["boot"].(map[string]any)
	}
	require.Equal(t, false, boot()["result"])
	require.Contains(t, boot()["reason"], "does not have any port associated with it")
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": apitest.MAC}).Is(201)
	require.Equal(t, true, boot()["result"])
	require.Contains(t, boot()["reason"], "the agent will call http://10.0.0.5:6386. No token goes this way")
}
