package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

const nobodyHasFake = `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "". Ensure the driver is valid and enabled.`

// uncovered returns an API with nodes that no conductor covers: all conductors are dead, or
// those with the nodes' driver.
func uncovered(t *testing.T, others bool) *apitest.Bench {
	b := apitest.New(t).WithConductors()
	uuid := b.In("free", node.Available)
	b.SQL(`UPDATE nodes SET power_state = 'power off', resource_class = 'gold' WHERE uuid = $1`, uuid)
	b.Post("/v1/allocations", map[string]any{"resource_class": "gold", "name": "web"}).Is(201)
	require.Equal(t, "active", b.Last.Header.Get("Temper-Allocation"))
	b.Enrolled("n1")
	b.Inspecting("inspected")
	b.WaitingWithPort("deployed")
	if others {
		b.Conductor("c3", "", "redfish")
	}
	b.Kill("c1", "c2")
	return b
}

// Sends every GET of the contract, except those that need a conductor and the stream.
func TestEveryGETIsAnsweredWithoutAConductor(t *testing.T) {
	t.Parallel()
	doc, err := apitest.Contract()
	require.NoError(t, err)
	b := uncovered(t, false)
	event := b.Get("/v1/nodes/free/history").Is(200)["history"].([]any)[0].(map[string]any)["uuid"].(string)
	port := b.Get("/v1/ports").Is(200)["ports"].([]any)[0].(map[string]any)["uuid"].(string)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory, plugin_data) SELECT id, '{}', '{}' FROM nodes WHERE name = 'free'`)
	b.Put("/temper/v1/compute-services/s1", map[string]any{"incarnation": 1}).Is(200)
	b.Post("/temper/v1/webhooks", map[string]any{"name": "w1", "url": "https://example.org", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}).Is(201)
	free := b.Field("free", "uuid").(string)
	record := func(path string, body map[string]any) string {
		return b.Post("/v1/"+path, body).Is(201)["uuid"].(string)
	}
	portgroup := record("portgroups", map[string]any{"node_uuid": free})
	connector := record("volume/connectors", map[string]any{"node_uuid": free, "type": "ip", "connector_id": "10.0.0.1"})
	target := record("volume/targets", map[string]any{"node_uuid": free, "volume_type": "iscsi", "volume_id": "v", "boot_index": 0})
	step := map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}, "priority": 1}
	template := record("deploy_templates", map[string]any{"name": "CUSTOM_A", "steps": []any{step}})
	runbook := record("runbooks", map[string]any{"name": "CUSTOM_A", "steps": []any{map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}, "order": 1}}})
	chassis := record("chassis", map[string]any{})
	discovery, err := b.Store.PutDiscovery(t.Context(), node.Discovery{MACs: []string{"52:54:00:0b:00:01"}, Inventory: map[string]any{}})
	require.NoError(t, err)
	values := strings.NewReplacer("{discovery}", discovery, "{chassis}", chassis, "{runbook}", runbook, "{template}", template, "{portgroup}", portgroup, "{connector}", connector, "{target}", target, "{node}", "free", "{port}", port, "{conductor}", "c1", "{allocation}", "web", "{operation}", "1", "{event}", event, "{host}", "s1", "{driver}", "fake-hardware", "{webhook}", "w1", "{setting}", "ProcVirt")
	queries := map[string]string{
		"/temper/v1/ring/what-if": "?without=c1", "/temper/v1/compute-services/what-if": "?service=s1", "/v1/lookup": "?node_uuid=" + b.Field("inspected", "uuid").(string),
		"/temper/v1/nodes/power": "?node=" + free,
	}
	seen := 0
	for path, item := range doc.Paths.Map() {
		if item.Get == nil || slices.Contains([]string{
			"/v1/nodes/{node}/validate", "/v1/nodes/{node}/vifs", "/v1/nodes/{node}/vmedia",
			"/v1/nodes/{node}/management/boot_device", "/v1/nodes/{node}/management/boot_device/supported", "/v1/nodes/{node}/states/console",
			"/v1/nodes/{node}/management/indicators", "/v1/nodes/{node}/management/indicators/{indicator}", "/v1/nodes/{node}/vendor_passthru",
			"/v1/nodes/{node}/vendor_passthru/methods", "/v1/nodes/{node}/vendor_passthru/{method}",
			"/temper/v1/events",                           // does not end by itself; it has tests of its own
			"/netboot/{mac}/{name}", "/netboot/boot.ipxe", // are tested beside them
			"/images/{secret}/{node}/{name}", "/temper/v1/login", "/temper/v1/login/callback",
			"/boot/{secret}/{name}", // is there during a boot only; it has tests of its own
		}, path) {
			continue
		}
		want := 200
		switch {
		case strings.HasPrefix(path, "/v1/drivers/{driver}"):
			want = 404 // a driver exists as long as a live conductor has it
		case path == "/v1/nodes/{node}/bios/{setting}":
			want = 404 // no BIOS settings are read yet
		}
		b.Get(values.Replace(path) + queries[path]).Is(want)
		seen++
	}
	require.Greater(t, seen, 30)
}

func TestWhatNeedsNoHardwareNeedsNoConductor(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]bool{"there is none": false, "none has the driver": true} {
		t.Run(name, func(t *testing.T) {
			b := uncovered(t, others)
			for _, root := range []string{"/extra", "/properties", "/driver_info", "/instance_info"} {
				b.Patch("/v1/nodes/n1", apitest.Add(root+"/a", "b")).Is(200)
			}
			b.Patch("/v1/nodes/n1", apitest.Add("/name", "n2"), apitest.Add("/owner", "ann"), apitest.Add("/resource_class", "gold")).Is(200)
			b.Put("/v1/nodes/n2/maintenance", map[string]any{"reason": "fan"}).Is(202)
			b.Delete("/v1/nodes/n2/maintenance").Is(202)
			b.Put("/v1/nodes/n2/traits", map[string]any{"traits": []string{"CUSTOM_A"}}).Is(204)
			b.Put("/v1/nodes/n2/traits/CUSTOM_B", nil).Is(204)
			b.Delete("/v1/nodes/n2/traits/CUSTOM_A").Is(204)
			b.Delete("/v1/nodes/n2/traits").Is(204)

			made := b.Post("/v1/allocations", map[string]any{"resource_class": "gold"}).Is(201)
			require.Contains(t, b.Get("/v1/allocations/" + made["uuid"].(string)).Is(200)["last_error"], "(2 of class gold: 1 enroll, 1 in use)")
			b.Patch("/v1/allocations/web", apitest.Add("/extra/a", 1)).Is(200)
			b.Delete("/v1/nodes/free/allocation").Is(204)

			// An agent that boots meanwhile still gets its answers.
			token, uuid := b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
			require.Equal(t, b.Field("deployed", "uuid"), uuid)
			b.At(68, "POST", "/v1/heartbeat/"+uuid, apitest.Heartbeat(token)).Is(202)
			b.Post("/v1/ports", map[string]any{"node_uuid": b.Field("inspected", "uuid"), "address": "52:54:00:aa:bb:02"}).Is(201)
			b.At(84, "POST", "/v1/continue_inspection", map[string]any{"inventory": map[string]any{
				"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:aa:bb:02"}},
			}}).Is(202)

			b.Delete("/v1/nodes/n2").Is(204)
			b.Conductor("far", "mars", "fake-hardware")
			require.Equal(t, false, b.Patch("/v1/nodes/free", apitest.Add("/conductor_group", "mars")).Is(200)["maintenance"])
		})
	}
}

func TestWhatNeedsAConductorIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]bool{"there is none": false, "none has the driver": true} {
		t.Run(name, func(t *testing.T) {
			b := uncovered(t, others)
			refused := func(status int, a *apitest.Answer) {
				t.Helper()
				words := nobodyHasFake
				if !others {
					status, words = 503, "Resource temporarily unavailable, please retry. No conductor is alive and takes work."
				}
				require.Equal(t, words, a.Fails(status))
				require.NotContains(t, string(a.Body), "c1", "no dead conductor is named")
			}
			refused(400, b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "new"}))
			b.Get("/v1/nodes/new").Fails(404)
			refused(400, b.Patch("/v1/nodes/n1", apitest.Replace("/bios_interface", "no-bios")))
			refused(400, b.Get("/v1/nodes/n1/vifs"))
			refused(400, b.Post("/v1/nodes/n1/vifs", map[string]any{"id": "v1"}))
			refused(400, b.Delete("/v1/nodes/n1/vifs/v1"))
			refused(400, b.Get("/v1/nodes/n1/vmedia"))
			refused(400, b.Post("/v1/nodes/n1/vmedia", map[string]any{"device_type": "cdrom", "image_url": "http://x/i"}))
			refused(400, b.Delete("/v1/nodes/n1/vmedia"))
			refused(404, b.Get("/v1/nodes/n1/management/boot_device"))
			refused(404, b.Get("/v1/nodes/n1/management/boot_device/supported"))
			refused(404, b.Put("/v1/nodes/n1/management/boot_device", map[string]any{"boot_device": "pxe"}))
			refused(404, b.Get("/v1/nodes/n1/states/console"))
			refused(404, b.Put("/v1/nodes/n1/states/console", map[string]any{"enabled": true}))
			refused(404, b.Get("/v1/nodes/n1/validate"))
			refused(404, b.Put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}))
			for state, targets := range map[node.State][]string{
				node.Enroll: {"manage"}, node.Manageable: {"inspect", "provide"}, node.Available: {"active"}, node.Active: {"rebuild", "deleted"},
			} {
				b.SQL(`UPDATE nodes SET provision_state = $1, instance_info = '{"image_source": "http://x/i", "image_checksum": "d41d8cd98f00b204e9800998ecf8427e"}' WHERE name = 'n1'`, string(state))
				for _, target := range targets {
					refused(404, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": target}))
				}
				require.Equal(t, string(state), b.Field("n1", "provision_state"))
			}
			b.SQL(`UPDATE nodes SET provision_state = 'active' WHERE name = 'free'`)
			require.Contains(t, b.Delete("/v1/allocations/web").Fails(409), "the node is active (and maintenance mode is off)", "quarantine is shown as maintenance and grants nothing of it")
			b.Conductor("far", "mars", "redfish")
			require.Contains(t, b.Patch("/v1/nodes/n1", apitest.Add("/conductor_group", "mars")).Fails(400), `supports driver fake-hardware for conductor group "mars"`)
		})
	}
}

func TestQuarantineByVersion(t *testing.T) {
	t.Parallel()
	b := uncovered(t, true)
	b.Conductor("far", "mars", "fake-hardware")
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "covered", "conductor_group": "mars"}).Is(201)
	names := func(minor int, query string) (out []string) {
		for _, n := range b.At(minor, "GET", "/v1/nodes/detail?"+query, nil).Is(200)["nodes"].([]any) {
			n := n.(map[string]any)
			require.Contains(t, n["maintenance_reason"], "No conductor service registered")
			require.Equal(t, minor >= 42, n["fault"] == "no conductor")
			out = append(out, n["name"].(string))
		}
		return out
	}
	all := []string{"free", "n1", "inspected", "deployed"}
	fault := "&fault=" + url.QueryEscape("no conductor")
	for _, minor := range []int{5, 41, 42, apitest.Newest} {
		require.ElementsMatch(t, all, names(minor, "maintenance=true"), minor)
		one := b.At(minor, "GET", "/v1/nodes/n1", nil).Is(200)
		require.Equal(t, true, one["maintenance"])
		if minor < 42 {
			require.NotContains(t, one, "fault")
			b.At(minor, "GET", "/v1/nodes?"+fault[1:], nil).Fails(406)
			continue
		}
		require.Equal(t, "no conductor", one["fault"])
		require.ElementsMatch(t, all, names(minor, "maintenance=true"+fault))
		require.Empty(t, names(minor, "maintenance=false"+fault))
	}
	require.Len(t, b.Get("/v1/nodes?maintenance=false").Is(200)["nodes"], 1)

	// If the node has a fault of its own as well, fault shows that one, and the reason has both.
	b.SQL(`UPDATE nodes SET maintenance = true, fault = 'power failure', maintenance_reason = 'no power' WHERE name = 'n1'`)
	require.Equal(t, "power failure", b.Field("n1", "fault"))
	require.Contains(t, b.Field("n1", "maintenance_reason"), "no power; No conductor")
	require.Len(t, b.Get("/v1/nodes?fault=" + url.QueryEscape("power failure")).Is(200)["nodes"], 1)
	require.Len(t, b.Get("/v1/nodes?" + fault[1:]).Is(200)["nodes"], 3)
}
