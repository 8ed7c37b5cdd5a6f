package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

const nobodyHasFake = `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "". Ensure the driver is valid and enabled.`

// uncovered is an API with nodes whose conductors are gone: all conductors, or
// those with the driver of the nodes.
func uncovered(t *testing.T, others bool) *bench {
	b := newBench(t).withConductors()
	uuid := b.in("free", node.Available)
	b.sql(`UPDATE nodes SET power_state = 'power off', resource_class = 'gold' WHERE uuid = $1`, uuid)
	require.Equal(t, "active", b.post("/v1/allocations", map[string]any{"resource_class": "gold", "name": "web"}).is(201)["state"])
	b.enrolled("n1")
	b.inspecting("inspected")
	b.waitingWithPort("deployed")
	if others {
		b.conductor("c3", "", "redfish")
	}
	b.killed("c1", "c2")
	return b
}

// Every GET of the contract, but for those that ask a conductor.
func TestEveryGETIsAnsweredWithoutAConductor(t *testing.T) {
	doc, err := contract()
	require.NoError(t, err)
	b := uncovered(t, false)
	event := b.get("/v1/nodes/free/history").is(200)["history"].([]any)[0].(map[string]any)["uuid"].(string)
	port := b.get("/v1/ports").is(200)["ports"].([]any)[0].(map[string]any)["uuid"].(string)
	b.sql(`INSERT INTO node_inventory (node_id, inventory, plugin_data) SELECT id, '{}', '{}' FROM nodes WHERE name = 'free'`)
	b.put("/temper/v1/compute-services/s1", map[string]any{"incarnation": 1}).is(200)
	values := strings.NewReplacer("{node}", "free", "{port}", port, "{conductor}", "c1", "{allocation}", "web", "{operation}", "1", "{event}", event, "{host}", "s1", "{driver}", "fake-hardware")
	queries := map[string]string{
		"/temper/v1/ring/what-if": "?without=c1", "/temper/v1/compute-services/what-if": "?service=s1", "/v1/lookup": "?node_uuid=" + b.field("inspected", "uuid").(string),
	}
	seen := 0
	for path, item := range doc.Paths.Map() {
		if item.Get == nil || slices.Contains([]string{
			"/v1/nodes/{node}/validate", "/v1/nodes/{node}/vifs", "/v1/nodes/{node}/vmedia",
			"/v1/nodes/{node}/management/boot_device", "/v1/nodes/{node}/management/boot_device/supported", "/v1/nodes/{node}/states/console",
		}, path) {
			continue
		}
		want := 200
		if strings.HasPrefix(path, "/v1/drivers/{driver}") {
			want = 404 // a driver is there as long as somebody has it
		}
		b.get(values.Replace(path) + queries[path]).is(want)
		seen++
	}
	require.Greater(t, seen, 30)
}

func TestWhatNeedsNoHardwareNeedsNoConductor(t *testing.T) {
	for name, others := range map[string]bool{"there is none": false, "none has the driver": true} {
		t.Run(name, func(t *testing.T) {
			b := uncovered(t, others)
			for _, root := range []string{"/extra", "/properties", "/driver_info", "/instance_info"} {
				b.patch("/v1/nodes/n1", add(root+"/a", "b")).is(200)
			}
			b.patch("/v1/nodes/n1", add("/name", "n2"), add("/owner", "ann"), add("/resource_class", "gold")).is(200)
			b.put("/v1/nodes/n2/maintenance", map[string]any{"reason": "fan"}).is(202)
			b.delete("/v1/nodes/n2/maintenance").is(202)
			b.put("/v1/nodes/n2/traits", map[string]any{"traits": []string{"CUSTOM_A"}}).is(204)
			b.put("/v1/nodes/n2/traits/CUSTOM_B", nil).is(204)
			b.delete("/v1/nodes/n2/traits/CUSTOM_A").is(204)
			b.delete("/v1/nodes/n2/traits").is(204)

			made := b.post("/v1/allocations", map[string]any{"resource_class": "gold"}).is(201)
			require.Contains(t, b.get("/v1/allocations/" + made["uuid"].(string)).is(200)["last_error"], "(2 of class gold: 1 enroll, 1 in use)")
			b.patch("/v1/allocations/web", add("/extra/a", 1)).is(200)
			b.delete("/v1/nodes/free/allocation").is(204)

			// An agent that boots meanwhile is not lost.
			token, uuid := lookup(b.at(62, "GET", "/v1/lookup?addresses="+mac, nil))
			require.Equal(t, b.field("deployed", "uuid"), uuid)
			b.at(68, "POST", "/v1/heartbeat/"+uuid, beat(token)).is(202)
			b.post("/v1/ports", map[string]any{"node_uuid": b.field("inspected", "uuid"), "address": "52:54:00:aa:bb:02"}).is(201)
			b.at(84, "POST", "/v1/continue_inspection", map[string]any{"inventory": map[string]any{
				"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:aa:bb:02"}},
			}}).is(202)

			b.delete("/v1/nodes/n2").is(204)
			b.conductor("far", "mars", "fake-hardware")
			require.Equal(t, false, b.patch("/v1/nodes/free", add("/conductor_group", "mars")).is(200)["maintenance"])
		})
	}
}

func TestWhatNeedsAConductorIsRefusedAtOnce(t *testing.T) {
	for name, others := range map[string]bool{"there is none": false, "none has the driver": true} {
		t.Run(name, func(t *testing.T) {
			b := uncovered(t, others)
			refused := func(status int, a *answer) {
				t.Helper()
				words := nobodyHasFake
				if !others {
					status, words = 503, "Resource temporarily unavailable, please retry."
				}
				require.Equal(t, words, a.fails(status))
				require.NotContains(t, string(a.raw), "c1", "no dead conductor is named")
			}
			refused(400, b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "new"}))
			b.get("/v1/nodes/new").fails(404)
			refused(400, b.patch("/v1/nodes/n1", replace("/bios_interface", "no-bios")))
			refused(400, b.get("/v1/nodes/n1/vifs"))
			refused(400, b.post("/v1/nodes/n1/vifs", map[string]any{"id": "v1"}))
			refused(400, b.delete("/v1/nodes/n1/vifs/v1"))
			refused(400, b.get("/v1/nodes/n1/vmedia"))
			refused(400, b.post("/v1/nodes/n1/vmedia", map[string]any{"device_type": "cdrom", "image_url": "http://x/i"}))
			refused(400, b.delete("/v1/nodes/n1/vmedia"))
			refused(404, b.get("/v1/nodes/n1/management/boot_device"))
			refused(404, b.get("/v1/nodes/n1/management/boot_device/supported"))
			refused(404, b.put("/v1/nodes/n1/management/boot_device", map[string]any{"boot_device": "pxe"}))
			refused(404, b.get("/v1/nodes/n1/states/console"))
			refused(404, b.put("/v1/nodes/n1/states/console", map[string]any{"enabled": true}))
			refused(404, b.get("/v1/nodes/n1/validate"))
			refused(404, b.put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}))
			for state, targets := range map[node.State][]string{
				node.Enroll: {"manage"}, node.Manageable: {"inspect", "provide"}, node.Available: {"active"}, node.Active: {"rebuild", "deleted"},
			} {
				b.sql(`UPDATE nodes SET provision_state = $1, instance_info = '{"image_source": "http://x/i", "image_checksum": "d41d8cd98f00b204e9800998ecf8427e"}' WHERE name = 'n1'`, string(state))
				for _, target := range targets {
					refused(404, b.put("/v1/nodes/n1/states/provision", map[string]any{"target": target}))
				}
				require.Equal(t, string(state), b.field("n1", "provision_state"))
			}
			b.sql(`UPDATE nodes SET provision_state = 'active' WHERE name = 'free'`)
			require.Contains(t, b.delete("/v1/allocations/web").fails(409), "the node is active (and maintenance mode is off)", "quarantine is shown as maintenance and grants nothing of it")
			b.conductor("far", "mars", "redfish")
			require.Contains(t, b.patch("/v1/nodes/n1", add("/conductor_group", "mars")).fails(400), `supports driver fake-hardware for conductor group "mars"`)
		})
	}
}

func TestANodeOfADriverOrInterfaceThatNobodyEnablesIsNotCreated(t *testing.T) {
	b := newBench(t)
	mine := map[string]map[string][]string{"fake-hardware": {}}
	hw, _ := node.Hardware("fake-hardware")
	for kind, impls := range hw.Supports() {
		mine["fake-hardware"][kind] = impls[:1]
	}
	_, err := b.store.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "c1", Interfaces: mine})
	require.NoError(t, err)
	for what, body := range map[string]map[string]any{
		"driver":    {"driver": "ilo", "name": "n1"},
		"interface": {"driver": "fake-hardware", "name": "n1", "bios_interface": hw.Supports()["bios"][1]},
	} {
		b.post("/v1/nodes", body).fails(400)
		require.Empty(t, b.get("/v1/nodes").is(200)["nodes"], what)
	}
	require.Equal(t, hw.Supports()["bios"][0], b.post("/v1/nodes", map[string]any{"driver": "fake-hardware"}).is(201)["bios_interface"])
}

func TestQuarantineByVersion(t *testing.T) {
	b := uncovered(t, true)
	b.conductor("far", "mars", "fake-hardware")
	b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "covered", "conductor_group": "mars"}).is(201)
	names := func(minor int, query string) (out []string) {
		for _, n := range b.at(minor, "GET", "/v1/nodes/detail?"+query, nil).is(200)["nodes"].([]any) {
			n := n.(map[string]any)
			require.Contains(t, n["maintenance_reason"], "No conductor service registered")
			require.Equal(t, minor >= 42, n["fault"] == "no conductor")
			out = append(out, n["name"].(string))
		}
		return out
	}
	all := []string{"free", "n1", "inspected", "deployed"}
	fault := "&fault=" + url.QueryEscape("no conductor")
	for _, minor := range []int{5, 41, 42, newest} {
		require.ElementsMatch(t, all, names(minor, "maintenance=true"), minor)
		one := b.at(minor, "GET", "/v1/nodes/n1", nil).is(200)
		require.Equal(t, true, one["maintenance"])
		if minor < 42 {
			require.NotContains(t, one, "fault")
			b.at(minor, "GET", "/v1/nodes?"+fault[1:], nil).fails(406)
			continue
		}
		require.Equal(t, "no conductor", one["fault"])
		require.ElementsMatch(t, all, names(minor, "maintenance=true"+fault))
		require.Empty(t, names(minor, "maintenance=false"+fault))
	}
	require.Len(t, b.get("/v1/nodes?maintenance=false").is(200)["nodes"], 1)

	// A failure goes first in fault, and the reason has both.
	b.sql(`UPDATE nodes SET maintenance = true, fault = 'power failure', maintenance_reason = 'no power' WHERE name = 'n1'`)
	require.Equal(t, "power failure", b.field("n1", "fault"))
	require.Contains(t, b.field("n1", "maintenance_reason"), "no power; No conductor")
	require.Len(t, b.get("/v1/nodes?fault=" + url.QueryEscape("power failure")).is(200)["nodes"], 1)
	require.Len(t, b.get("/v1/nodes?" + fault[1:]).is(200)["nodes"], 3)
}
