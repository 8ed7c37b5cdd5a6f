package api_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// Whoever may change a node, and does not know the password of its BMC, must not
// be able to have it sent to a machine of their own.
func TestAKeptSecretGoesNowhereElse(t *testing.T) {
	b := newBench(t).withConductors()
	info := map[string]any{
		"redfish_address": "https://bmc", "redfish_username": "admin", "redfish_password": "one", "redfish_verify_ca": true,
		"redfish_auth_type": "session", "deploy_iso": "http://images/ipa.iso",
	}
	id := b.post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "driver_info": info,
		"instance_info": map[string]any{"image_source": "https://images/disk.raw", "image_request_authorization_secret": "user:two"},
	}).is(201)["uuid"].(string)
	with := func(over map[string]any) map[string]any {
		out := maps.Clone(info)
		maps.Copy(out, over)
		return out
	}
	const password, header = "driver_info/redfish_password", "instance_info/image_request_authorization_secret"
	for name, c := range map[string]struct {
		ops    []op
		fields []string
		secret string
	}{
		"the address":              {[]op{replace("/driver_info/redfish_address", "http://other")}, []string{"driver_info/redfish_address"}, password},
		"no address":               {[]op{remove("/driver_info/redfish_address")}, []string{"driver_info/redfish_address"}, password},
		"the trust":                {[]op{replace("/driver_info/redfish_verify_ca", false)}, []string{"driver_info/redfish_verify_ca"}, password},
		"the way it is shown":      {[]op{replace("/driver_info/redfish_auth_type", "basic")}, []string{"driver_info/redfish_auth_type"}, password},
		"the driver":               {[]op{replace("/driver", "fake-hardware")}, []string{"driver"}, password},
		"both, and the mask again": {[]op{replace("/driver_info/redfish_address", "https://other"), replace("/driver_info/redfish_verify_ca", false), replace("/driver_info/redfish_password", "******")}, []string{"driver_info/redfish_address", "driver_info/redfish_verify_ca"}, password},
		"all of it, as shown":      {[]op{replace("/driver_info", with(map[string]any{"redfish_address": "https://other", "redfish_password": "******"}))}, []string{"driver_info/redfish_address"}, password},
		"the image":                {[]op{replace("/instance_info/image_source", "http://other/disk.raw")}, []string{"instance_info/image_source"}, header},
		"a proxy before the image": {[]op{add("/driver_info/image_https_proxy", "http://other")}, []string{"driver_info/image_https_proxy"}, header},
	} {
		t.Run(name, func(t *testing.T) {
			path := "/v1/nodes/n1"
			if c.fields[0] == "driver" {
				path += "?reset_interfaces=true"
			}
			words := b.patch(path, c.ops...).fails(400)
			for _, field := range append(c.fields, c.secret) {
				require.Contains(t, words, field)
			}
			require.NotContains(t, words, "//", "no values")
		})
	}
	secrets, err := b.credentials(id)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{password: "one", header: "user:two"}, secrets)

	for _, c := range []struct {
		name string
		ops  []op
	}{
		{"the same values", []op{replace("/driver_info/redfish_address", "https://bmc"), replace("/driver_info/redfish_verify_ca", true)}},
		{"what it shows, sent back", []op{replace("/driver_info", with(map[string]any{"redfish_password": "******"}))}},
		{"another ISO", []op{replace("/driver_info/deploy_iso", "http://images/other.iso")}},
		{"another system and account", []op{add("/driver_info/redfish_system_id", "/redfish/v1/Systems/2"), replace("/driver_info/redfish_username", "root")}},
		{"nothing of all that", []op{add("/extra/a", 1)}},
		{"another address with its password", []op{replace("/driver_info/redfish_address", "https://second"), replace("/driver_info/redfish_password", "one")}},
		{"all of it anew", []op{replace("/driver_info", with(map[string]any{"redfish_address": "https://third", "redfish_password": "three"}))}},
		{"another image with its header", []op{replace("/instance_info/image_source", "https://images/2.raw"), replace("/instance_info/image_request_authorization_secret", "user:two")}},
	} {
		t.Run(c.name, func(*testing.T) { b.patch("/v1/nodes/n1", c.ops...).is(200) })
	}
	_, err = b.credentials(id)
	require.NoError(t, err, "what was given opens where it goes now")
	b.patch("/v1/nodes/n1", remove("/driver_info/redfish_password"), replace("/driver_info/redfish_address", "https://fourth")).is(200)
}

func TestTheHistoryNamesTheFieldsThatSomebodyChanged(t *testing.T) {
	b := newBench(t).withConductors()
	b.post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://old-value", "redfish_password": "old-secret"},
	}).is(201)
	b.patch("/v1/nodes/n1", replace("/driver_info/redfish_address", "https://new-value"), replace("/driver_info/redfish_password", "new-secret"),
		add("/properties/cpus", 4), add("/extra/a", 1), remove("/description")).is(200)
	events := b.get("/v1/nodes/n1/history?detail=true").is(200)["history"].([]any)
	last := events[len(events)-1].(map[string]any)
	require.Equal(t, "changed driver_info/redfish_address, driver_info/redfish_password, extra/a, properties/cpus", last["event"])
	require.Equal(t, "change", last["event_type"])
	require.Equal(t, "INFO", last["severity"])
	for _, value := range []string{"old-value", "new-value", "secret\""} {
		require.NotContains(t, string(b.last.raw), value)
	}
	b.patch("/v1/nodes/n1", replace("/driver_info/redfish_password", "******"), replace("/properties/cpus", 4)).is(200)
	require.Len(t, b.get("/v1/nodes/n1/history").is(200)["history"], len(events), "nothing has changed")

	var many []op
	for i := range 30 {
		many = append(many, add("/extra/"+strings.Repeat("k", i+1), i))
	}
	b.patch("/v1/nodes/n1", many...).is(200)
	events = b.get("/v1/nodes/n1/history?detail=true").is(200)["history"].([]any)
	require.Contains(t, events[len(events)-1].(map[string]any)["event"], "and 10 more")
}
