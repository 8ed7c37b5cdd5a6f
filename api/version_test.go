package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

const (
	reqVersion = "X-OpenStack-Ironic-API-Version"
	minVersion = "X-OpenStack-Ironic-API-Minimum-Version"
	maxVersion = "X-OpenStack-Ironic-API-Maximum-Version"
	common     = "OpenStack-API-Version"
)

func TestVersionNegotiation(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		header http.Header
		status int
		want   string
	}{
		"no header is 1.1":                        {http.Header{}, 200, "1.1"},
		"Ironic's header":                         {http.Header{canonical(reqVersion): {"1.38"}}, 200, "1.38"},
		"latest":                                  {http.Header{canonical(reqVersion): {"latest"}}, 200, "1.95"},
		"Latest in any case":                      {http.Header{canonical(reqVersion): {"LATEST"}}, 200, "1.95"},
		"the newest":                              {http.Header{canonical(reqVersion): {"1.95"}}, 200, "1.95"},
		"OpenStack's header":                      {http.Header{canonical(common): {"baremetal 1.50"}}, 200, "1.50"},
		"OpenStack's header is preferred":         {http.Header{canonical(common): {"baremetal 1.50"}, canonical(reqVersion): {"1.2"}}, 200, "1.50"},
		"OpenStack's header for several services": {http.Header{canonical(common): {"compute 2.1, baremetal latest"}}, 200, "1.95"},
		"OpenStack's header for another service":  {http.Header{canonical(common): {"compute 2.1"}}, 200, "1.1"},
		"newer than served":                       {http.Header{canonical(reqVersion): {"1.96"}}, 406, ""},
		"what python-ironicclient sends first":    {http.Header{canonical(reqVersion): {"1.115"}}, 406, ""},
		"older than served":                       {http.Header{canonical(reqVersion): {"1.0"}}, 406, ""},
		"another major version":                   {http.Header{canonical(reqVersion): {"2.1"}}, 406, ""},
		"no number":                               {http.Header{canonical(reqVersion): {"banana"}}, 406, ""},
		"three numbers":                           {http.Header{canonical(reqVersion): {"1.2.3"}}, 406, ""},
		"a number without a dot":                  {http.Header{canonical(reqVersion): {"1"}}, 406, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			for _, path := range []string{"/v1", "/v1/nodes", "/v1/nosuch", "/nodes/"} {
				a := b.with(c.header, "GET", path, nil)
				require.Equal(t, "1.1", a.header.Get(minVersion), path)
				require.Equal(t, "1.95", a.header.Get(maxVersion), path)
				require.Equal(t, c.want, a.header.Get(reqVersion), path)
				if c.status == 406 {
					require.NotEmpty(t, a.fails(406), path)
				} else {
					require.NotEqual(t, 406, a.status, path)
				}
			}
		})
	}
	b.t = t
	require.Equal(t, "Version 1.115 was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.95].",
		b.at(115, "GET", "/v1/nodes", nil).fails(406))
}

func canonical(h string) string { return http.CanonicalHeaderKey(h) }

func TestDiscovery(t *testing.T) {
	b := newBench(t)
	root := b.with(nil, "GET", "/", nil).is(200)
	version := root["default_version"].(map[string]any)
	require.Equal(t, "v1", version["id"])
	require.Equal(t, "1.1", version["min_version"])
	require.Equal(t, "1.95", version["version"])
	require.Equal(t, "CURRENT", version["status"])
	require.Equal(t, []any{version}, root["versions"])
	require.Equal(t, "1.95", b.last.header.Get(maxVersion), "also where nothing is negotiated")

	for minor, want := range map[int][]string{
		1:  {"nodes", "ports", "drivers"},
		22: {"nodes", "ports", "drivers", "lookup", "heartbeat"},
		95: {"nodes", "ports", "drivers", "lookup", "heartbeat", "conductors", "continue_inspection"},
	} {
		doc := b.at(minor, "GET", "/v1/", nil).is(200)
		require.Equal(t, version, doc["version"], "gophercloud reads it")
		var have []string
		for _, r := range []string{"nodes", "ports", "drivers", "lookup", "heartbeat", "conductors", "continue_inspection"} {
			if doc[r] != nil {
				have = append(have, r)
			}
		}
		require.Equal(t, want, have, "1.%d", minor)
	}
}

func TestPathsAsIronicTakesThem(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.enrolled("n1")
	for _, path := range []string{"/v1/nodes/" + uuid, "/nodes/" + uuid, "/v1/nodes/" + uuid + "/", "/nodes/n1/", "/v1/nodes/n1.json", "/nodes/" + uuid + ".json"} {
		require.Equal(t, uuid, b.at(90, "GET", path, nil).is(200)["uuid"], path)
	}
	b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n2.json"}).is(201)
	require.Equal(t, "n2.json", b.at(90, "GET", "/v1/nodes/n2.json", nil).is(200)["name"], "a name that ends so is found")
	require.Equal(t, "n2.json", b.at(91, "GET", "/v1/nodes/n2.json", nil).is(200)["name"])
	require.Equal(t, "Node n1.json could not be found.", b.at(91, "GET", "/v1/nodes/n1.json", nil).fails(404), "no suffix any more")
}

func TestEndpointsOfNewerVersionsAreNotThere(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	for path, first := range map[string]int{
		"/v1/nodes/n1/traits": 37, "/v1/nodes/n1/history": 78, "/v1/conductors": 49, "/v1/conductors/c1": 49,
	} {
		b.at(first-1, "GET", path, nil).fails(404)
		b.at(first, "GET", path, nil).is(200)
	}
	b.at(80, "GET", "/v1/nodes/n1/inventory", nil).fails(404)
	b.at(21, "GET", "/v1/lookup?addresses=52:54:00:00:00:01", nil).fails(404)
	require.Equal(t, "The method is not allowed for this resource.", b.at(54, "POST", "/v1/deploy_templates", map[string]any{}).fails(405))
	b.at(54, "GET", "/v1/deploy_templates", nil).fails(404)
	b.at(95, "POST", "/v1/deploy_templates", map[string]any{}).fails(404)
	b.at(95, "GET", "/v1/nodes/n1/bios", nil).fails(404)
	b.at(95, "PUT", "/v1/nodes", nil).fails(405)
}

// Every field of a node is shown from its version on, and only then.
func TestFieldsAppearWithTheirVersion(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	uuid := b.get("/v1/nodes/n1").is(200)["uuid"].(string)
	since := map[string]int{
		"driver_internal_info": 3, "name": 5, "inspection_started_at": 6, "inspection_finished_at": 6, "clean_step": 7, "raid_config": 12,
		"target_raid_config": 12, "states": 14, "network_interface": 20, "resource_class": 21, "portgroups": 24,
		"boot_interface": 31, "console_interface": 31, "deploy_interface": 31, "inspect_interface": 31, "management_interface": 31,
		"power_interface": 31, "raid_interface": 31, "vendor_interface": 31, "volume": 32, "storage_interface": 33, "traits": 37,
		"rescue_interface": 38, "bios_interface": 40, "fault": 42, "deploy_step": 44, "conductor_group": 46, "automated_clean": 47,
		"protected": 48, "protected_reason": 48, "conductor": 49, "owner": 50, "description": 51, "allocation_uuid": 52,
		"retired": 61, "retired_reason": 61, "lessee": 65, "network_data": 66, "boot_mode": 75, "secure_boot": 75, "shard": 82,
		"parent_node": 83, "firmware_interface": 86, "service_step": 87, "disable_power_off": 95,
	}
	for minor := 1; minor <= newest; minor++ {
		body := b.at(minor, "GET", "/v1/nodes/"+uuid, nil).is(200)
		for field, first := range since {
			_, shown := body[field]
			require.Equal(t, minor >= first, shown, "%s at 1.%d", field, minor)
		}
		require.Len(t, body, 22+countTo(since, minor), "1.%d shows something that is in no version", minor)
	}
}

func countTo(since map[string]int, minor int) (n int) {
	for _, first := range since {
		if first <= minor {
			n++
		}
	}
	return n
}

func TestFieldsAndFiltersThatAreTooNew(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.enrolled("n1")
	for query, first := range map[string]int{
		"fields=uuid": 8, "fields=owner": 50, "sort_key=owner": 50, "provision_state=enroll": 9, "driver=x": 16, "resource_class=x": 21,
		"fault=power%20failure": 42, "conductor_group=x": 46, "conductor=c1": 49, "owner=x": 50, "description_contains=x": 51,
		"lessee=x": 65, "project=x": 65, "retired=true": 61, "shard=x": 82, "sharded=true": 82, "include_children=true": 83,
		"parent_node=" + uuid: 83,
	} {
		b.at(first-1, "GET", "/v1/nodes?"+query, nil).fails(406)
		b.at(first, "GET", "/v1/nodes?"+query, nil).is(200)
	}
	b.at(newest, "GET", "/v1/nodes?fields=health", nil).fails(406)
	b.at(42, "GET", "/v1/nodes?detail=true", nil).fails(400)
	b.at(43, "GET", "/v1/nodes?detail=true", nil).is(200)
	for field, first := range map[string]int{"name": 5, "resource_class": 21, "owner": 50, "description": 51, "lessee": 65, "shard": 82} {
		body := map[string]any{"driver": "fake-hardware", field: "x1"}
		b.at(first-1, "POST", "/v1/nodes", body).fails(406)
		b.at(first, "POST", "/v1/nodes", body).is(201)
		b.at(first-1, "PATCH", "/v1/nodes/"+uuid, []op{replace("/"+field, "x2")}).fails(406)
	}
}

func TestStatesAsOlderVersionsKnowThem(t *testing.T) {
	b := newBench(t).withConductors()
	old := b.at(10, "POST", "/v1/nodes", map[string]any{"driver": "fake-hardware"}).is(201)
	require.Equal(t, "available", old["provision_state"])
	uuid := old["uuid"].(string)
	require.Nil(t, b.at(1, "GET", "/v1/nodes/"+uuid, nil).is(200)["provision_state"])
	require.Nil(t, b.at(1, "GET", "/v1/nodes/"+uuid+"/states", nil).is(200)["provision_state"])
	require.Equal(t, "available", b.at(2, "GET", "/v1/nodes/"+uuid, nil).is(200)["provision_state"])
	require.Equal(t, "enroll", b.at(11, "POST", "/v1/nodes", map[string]any{"driver": "fake-hardware"}).is(201)["provision_state"])

	waiting := b.in("n1", node.InspectWait)
	require.Equal(t, "inspecting", b.at(38, "GET", "/v1/nodes/"+waiting, nil).is(200)["provision_state"])
	require.Equal(t, "inspect wait", b.at(39, "GET", "/v1/nodes/"+waiting, nil).is(200)["provision_state"])
}

func TestNamesByVersion(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n_1~x")
	require.Equal(t, "Node n_1~x could not be found.", b.at(4, "GET", "/v1/nodes/n_1~x", nil).fails(404), "no names yet")
	b.at(9, "GET", "/v1/nodes/n_1~x", nil).fails(400)
	require.Equal(t, "n_1~x", b.at(10, "GET", "/v1/nodes/n_1~x", nil).is(200)["name"])
	for _, bad := range []string{"has space", "a/b", "", "detail", "states", "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", strings.Repeat("a", 300)} {
		b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": bad}).fails(400)
		b.patch("/v1/nodes/n_1~x", replace("/name", bad)).fails(400)
	}
}
