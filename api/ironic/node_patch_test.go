package ironic_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestANodeDoesNotMoveWithAnothersInstance(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.AutomaticLessee = true }).WithConductors()
	offeredNode(b, "n1", "gold")
	b.Patch("/v1/nodes/n1", apitest.Add("/owner", "p1")).Is(200)
	b.Patch("/v1/nodes/n1", apitest.Add("/owner", "p2")).Is(200)
	require.Equal(t, "error", allocate(b, map[string]any{"resource_class": "gold", "owner": "p1"})["state"])
	require.Equal(t, "active", allocate(b, map[string]any{"resource_class": "gold", "owner": "p2"})["state"])
	for name, change := range map[string]apitest.Op{"another owner": apitest.Add("/owner", "p1"), "nobody": apitest.Remove("/owner"), "another lessee": apitest.Add("/lessee", "p1")} {
		require.Contains(t, b.Patch("/v1/nodes/n1", change).Fails(409), `while instance`, name)
	}
	b.Patch("/v1/nodes/n1", apitest.Add("/lessee", "p2")).Is(200)
	b.Patch("/v1/nodes/n1", apitest.Add("/owner", "p1")).Is(200)
	b.Patch("/v1/nodes/n1", apitest.Remove("/lessee")).Fails(409)
	b.Delete("/v1/nodes/n1/allocation").Is(204)
	b.Patch("/v1/nodes/n1", apitest.Remove("/lessee")).Is(200)

	offeredNode(b, "n2", "tin")
	allocate(b, map[string]any{"resource_class": "tin"})
	b.Patch("/v1/nodes/n2", apitest.Add("/instance_info/project_id", "p3")).Is(200)
	b.Put("/v1/nodes/n2/states/provision", map[string]any{"target": "active"}).Is(202)
	require.Equal(t, "p3", b.Field("n2", "lessee"), "the project of the instance")
	require.Equal(t, true, b.Field("n2", "driver_internal_info").(map[string]any)["automatic_lessee"])
	b.Patch("/v1/nodes/n2", apitest.Replace("/lessee", "p1")).Fails(409)
}

// A user who may change a node but does not know the password of its BMC must not be able to
// have it sent to another address.
func TestAKeptSecretGoesNowhereElse(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	info := map[string]any{
		"redfish_address": "https://bmc", "redfish_username": "admin", "redfish_password": "one", "redfish_verify_ca": true,
		"redfish_auth_type": "session", "deploy_iso": "http://images/ipa.iso",
	}
	id := b.Post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "driver_info": info,
		"instance_info": map[string]any{"image_source": "https://images/disk.raw", "image_request_authorization_secret": "user:two"},
	}).Is(201)["uuid"].(string)
	with := func(over map[string]any) map[string]any {
		out := maps.Clone(info)
		maps.Copy(out, over)
		return out
	}
	const password, header = "driver_info/redfish_password", "instance_info/image_request_authorization_secret"
	for name, c := range map[string]struct {
		ops    []apitest.Op
		fields []string
		secret string
	}{
		"the address":              {[]apitest.Op{apitest.Replace("/driver_info/redfish_address", "http://other")}, []string{"driver_info/redfish_address"}, password},
		"no address":               {[]apitest.Op{apitest.Remove("/driver_info/redfish_address")}, []string{"driver_info/redfish_address"}, password},
		"the trust":                {[]apitest.Op{apitest.Replace("/driver_info/redfish_verify_ca", false)}, []string{"driver_info/redfish_verify_ca"}, password},
		"the way it is shown":      {[]apitest.Op{apitest.Replace("/driver_info/redfish_auth_type", "basic")}, []string{"driver_info/redfish_auth_type"}, password},
		"the driver":               {[]apitest.Op{apitest.Replace("/driver", "fake-hardware")}, []string{"driver"}, password},
		"both, and the mask again": {[]apitest.Op{apitest.Replace("/driver_info/redfish_address", "https://other"), apitest.Replace("/driver_info/redfish_verify_ca", false), apitest.Replace("/driver_info/redfish_password", "******")}, []string{"driver_info/redfish_address", "driver_info/redfish_verify_ca"}, password},
		"all of it, as shown":      {[]apitest.Op{apitest.Replace("/driver_info", with(map[string]any{"redfish_address": "https://other", "redfish_password": "******"}))}, []string{"driver_info/redfish_address"}, password},
		"the image":                {[]apitest.Op{apitest.Replace("/instance_info/image_source", "http://other/disk.raw")}, []string{"instance_info/image_source"}, header},
		"a proxy before the image": {[]apitest.Op{apitest.Add("/driver_info/image_https_proxy", "http://other")}, []string{"driver_info/image_https_proxy"}, header},
	} {
		t.Run(name, func(t *testing.T) {
			path := "/v1/nodes/n1"
			if c.fields[0] == "driver" {
				path += "?reset_interfaces=true"
			}
			words := b.Patch(path, c.ops...).Fails(400)
			for _, field := range append(c.fields, c.secret) {
				require.Contains(t, words, field)
			}
			require.NotContains(t, words, "//", "no values")
		})
	}
	secrets, err := b.Credentials(id)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{password: "one", header: "user:two"}, secrets)

	for _, c := range []struct {
		name string
		ops  []apitest.Op
	}{
		{"the same values", []apitest.Op{apitest.Replace("/driver_info/redfish_address", "https://bmc"), apitest.Replace("/driver_info/redfish_verify_ca", true)}},
		{"what it shows, sent back", []apitest.Op{apitest.Replace("/driver_info", with(map[string]any{"redfish_password": "******"}))}},
		{"another ISO", []apitest.Op{apitest.Replace("/driver_info/deploy_iso", "http://images/other.iso")}},
		{"another system and account", []apitest.Op{apitest.Add("/driver_info/redfish_system_id", "/redfish/v1/Systems/2"), apitest.Replace("/driver_info/redfish_username", "root")}},
		{"nothing of all that", []apitest.Op{apitest.Add("/extra/a", 1)}},
		{"another address with its password", []apitest.Op{apitest.Replace("/driver_info/redfish_address", "https://second"), apitest.Replace("/driver_info/redfish_password", "one")}},
		{"all of it anew", []apitest.Op{apitest.Replace("/driver_info", with(map[string]any{"redfish_address": "https://third", "redfish_password": "three"}))}},
		{"another image with its header", []apitest.Op{apitest.Replace("/instance_info/image_source", "https://images/2.raw"), apitest.Replace("/instance_info/image_request_authorization_secret", "user:two")}},
	} {
		t.Run(c.name, func(*testing.T) { b.Patch("/v1/nodes/n1", c.ops...).Is(200) })
	}
	_, err = b.Credentials(id)
	require.NoError(t, err, "what was given opens where it goes now")
	b.Patch("/v1/nodes/n1", apitest.Remove("/driver_info/redfish_password"), apitest.Replace("/driver_info/redfish_address", "https://fourth")).Is(200)
}

func TestPatchNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://a", "redfish_password": "one", "redfish_system_id": "/redfish/v1/Systems/1", "x": 1},
	}).Is(201)["uuid"].(string)
	body := b.Patch("/v1/nodes/n1", apitest.Replace("/driver_info/redfish_system_id", "/redfish/v1/Systems/2"), apitest.Add("/extra/rack", map[string]any{"u": 3}),
		apitest.Add("/properties/capabilities", "boot_mode:uefi"), apitest.Replace("/name", "n2"), apitest.Remove("/driver_info/x"), apitest.Add("/maintenance", true)).Is(200)
	require.Equal(t, map[string]any{"redfish_address": "https://a", "redfish_password": "******", "redfish_system_id": "/redfish/v1/Systems/2"}, body["driver_info"])
	require.Equal(t, map[string]any{"rack": map[string]any{"u": 3.0}}, body["extra"])
	require.Equal(t, "n2", body["name"])
	require.Equal(t, true, body["maintenance"])
	require.NotNil(t, body["updated_at"])

	secret := func() any {
		s, err := b.Credentials(id)
		require.NoError(t, err)
		return s["driver_info/redfish_password"]
	}
	require.Equal(t, "one", secret(), "what was not touched stays")
	b.Patch("/v1/nodes/n2", apitest.Replace("/driver_info", map[string]any{"redfish_address": "https://a", "redfish_password": "******"})).Is(200)
	require.Equal(t, "one", secret(), "the mask stands for what is there")
	b.Patch("/v1/nodes/n2", apitest.Replace("/driver_info/redfish_password", "swordfish")).Is(200)
	require.Equal(t, "swordfish", secret())
	require.NotContains(t, string(b.Last.Body), "swordfish")
	b.Patch("/v1/nodes/n2", apitest.Remove("/driver_info/redfish_password")).Is(200)
	require.Nil(t, secret())
	b.Patch("/v1/nodes/n2", apitest.Add("/driver_info/redfish_password", "******")).Fails(400)

	b.Patch("/v1/nodes/n2", apitest.Remove("/name"), apitest.Remove("/extra"), apitest.Remove("/maintenance"), apitest.Remove("/owner")).Is(200)
	require.Nil(t, b.Field(id, "name"))
	require.Equal(t, map[string]any{}, b.Field(id, "extra"))
	require.Equal(t, false, b.Field(id, "maintenance"))
}

func TestPatchNodeIsRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Enrolled("n1")
	b.Enrolled("taken")
	before := string(b.Get("/v1/nodes/" + id).Body)
	for name, c := range map[string]struct {
		body   any
		status int
		words  string
	}{
		"no list":                         {map[string]any{"op": "add"}, 400, "The request body must be a list of patch operations, "},
		"an operation that is no object":  {[]any{1}, 400, ""},
		"an unknown operation":            {[]apitest.Op{{"op": "move", "from": "/a", "path": "/extra/b"}}, 400, ""},
		"test, which RFC 6902 has":        {[]apitest.Op{{"op": "test", "path": "/extra/b", "value": 1}}, 400, ""},
		"no path":                         {[]apitest.Op{{"op": "remove"}}, 400, ""},
		"a path with a dot":               {[]apitest.Op{apitest.Add("/extra/a.b", 1)}, 400, ""},
		"the whole document":              {[]apitest.Op{apitest.Add("", map[string]any{})}, 400, ""},
		"no value":                        {[]apitest.Op{{"op": "add", "path": "/extra/a"}}, 400, ""},
		"an unknown field":                {[]apitest.Op{apitest.Add("/colour", "red")}, 400, "Cannot patch /colour. Only the following can be updated: "},
		"a field that is not for clients": {[]apitest.Op{apitest.Replace("/provision_state", "active")}, 400, "Cannot patch /provision_state. Only the following can be updated: "},
		"the reservation":                 {[]apitest.Op{apitest.Remove("/reservation")}, 400, "Cannot patch /reservation. "},
		"traits":                          {[]apitest.Op{apitest.Add("/traits", []string{"CUSTOM_A"})}, 400, "Cannot patch /traits. "},
		"something that is not there":     {[]apitest.Op{apitest.Remove("/extra/nothing")}, 400, "Couldn't apply patch 'remove /extra/nothing'. Reason: can't remove a non-existent object 'nothing'"},
		"another value of what is not":    {[]apitest.Op{apitest.Replace("/extra/nothing", 1)}, 400, "Couldn't apply patch 'replace /extra/nothing'. Reason: can't replace a non-existent object 'nothing'"},
		"a number that nothing can hold":  {`[{"op":"add","path":"/extra/a","value":1e400}]`, 400, "/0/value is a number with more than 400 digits"},
		"nested too deep":                 {[]apitest.Op{apitest.Add("/extra"+strings.Repeat("/a", 23), map[string]any{"a": []any{}})}, 400, "nested deeper than 25"},
		"below something that is not":     {[]apitest.Op{apitest.Add("/extra/a/b", 1)}, 400, "Couldn't apply patch 'add /extra/a/b'. Reason: "},
		"no driver":                       {[]apitest.Op{apitest.Remove("/driver")}, 400, "Schema error for node: driver: "},
		"a driver nobody has":             {[]apitest.Op{apitest.Replace("/driver", "ipmi")}, 400, "No valid host was found. "},
		"a group nobody is in":            {[]apitest.Op{apitest.Replace("/conductor_group", "moon")}, 400, "No valid host was found. "},
		"a driver with other interfaces":  {[]apitest.Op{apitest.Replace("/driver", "redfish")}, 400, ""},
		"a name that is taken":            {[]apitest.Op{apitest.Replace("/name", "taken")}, 409, "A node with name taken already exists."},
		"a dictionary that is none":       {[]apitest.Op{apitest.Replace("/extra", "x")}, 400, "Schema error for node: extra: "},
		"another's parent":                {[]apitest.Op{apitest.Replace("/parent_node", id)}, 400, "can not be its own parent"},
		"a parent nobody knows":           {[]apitest.Op{apitest.Replace("/parent_node", uuid.NewString())}, 400, "could not be found"},
		"a parent that is a word":         {[]apitest.Op{apitest.Replace("/parent_node", "n2")}, 400, ""},
		"a chassis":                       {[]apitest.Op{apitest.Replace("/chassis_uuid", id)}, 400, "Chassis"},
		"a long description":              {[]apitest.Op{apitest.Replace("/description", strings.Repeat("x", 4097))}, 400, "Schema error for node: description: "},
		"a health":                        {[]apitest.Op{apitest.Replace("/health", "OK")}, 400, "Cannot patch /health."},
		"a long instance name":            {[]apitest.Op{apitest.Replace("/instance_name", strings.Repeat("x", 256))}, 400, "Schema error for node: instance_name: "},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.At(apitest.Newest, "PATCH", "/v1/nodes/n1", c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	require.Equal(t, before, string(b.Get("/v1/nodes/"+id).Body), "a refused request changes nothing")
	b.Patch("/v1/nodes/nosuch", apitest.Replace("/extra", nil)).Fails(404)
	b.At(apitest.Newest, "PATCH", "/v1/nodes/n1?reset_interfaces=true", []apitest.Op{apitest.Replace("/extra", nil)}).Fails(400)
	b.At(44, "PATCH", "/v1/nodes/n1?reset_interfaces=true", []apitest.Op{apitest.Replace("/driver", "redfish")}).Fails(406)
	require.Contains(t, b.At(apitest.Newest, "PATCH", "/v1/nodes/n1", []apitest.Op{apitest.Replace("/driver", "redfish")}).Fails(400),
		"With reset_interfaces=true (--reset-interfaces) each interface that the request does not name gets the default of driver redfish.")
	reset := b.At(apitest.Newest, "PATCH", "/v1/nodes/n1?reset_interfaces=true", []apitest.Op{apitest.Replace("/driver", "redfish")}).Is(200)
	require.Equal(t, "redfish", reset["power_interface"])
}

func TestPatchOfANodeThatIsHeld(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	busy := b.In("busy", node.Deploying)
	moving := "Node " + busy + " can not be updated while a state transition is in progress."
	requireHint(t, moving, b.Patch("/v1/nodes/busy", apitest.Replace("/driver_info", map[string]any{"a": 1})).Fails(409))
	requireHint(t, moving, b.Patch("/v1/nodes/busy", apitest.Replace("/instance_info", map[string]any{"a": 1})).Fails(409))
	requireHint(t, moving, b.Patch("/v1/nodes/busy", apitest.Replace("/shard", "s")).Fails(409))
	b.Patch("/v1/nodes/busy", apitest.Replace("/description", "written at any time"), apitest.Add("/extra/a", 1), apitest.Replace("/maintenance", true)).Is(200)

	b.In("done", node.Active)
	b.Put("/v1/nodes/done/states/power", map[string]any{"target": "power on"}).Is(202)
	require.Contains(t, b.Patch("/v1/nodes/done", apitest.Replace("/properties", nil)).Fails(409), "is locked by host ")
	instance := uuid.NewString()
	b.In("claimed", node.Available)
	b.Patch("/v1/nodes/claimed", apitest.Add("/instance_uuid", instance)).Is(200)
	require.Equal(t, "Node "+b.Field("claimed", "uuid").(string)+" is associated with instance "+instance+".",
		b.Patch("/v1/nodes/claimed", apitest.Add("/instance_uuid", uuid.NewString())).Fails(409))
	b.Enrolled("other")
	require.Contains(t, b.Patch("/v1/nodes/other", apitest.Add("/instance_uuid", instance)).Fails(409), instance)
}

func TestWhatAStepFailedForIsMendedWhileItHolds(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("held", node.DeployHold)
	mend := []apitest.Op{apitest.Add("/instance_info/image_checksum", "right"), apitest.Add("/driver_info/redfish_password", "new"), apitest.Add("/properties/cpu_arch", "x86_64")}
	moving := "can not be updated while a state transition is in progress"
	require.Contains(t, b.Patch("/v1/nodes/held", mend...).Fails(409), moving, "it waits for a hold step's end, which no change can mend")
	b.SQL(`UPDATE operations SET phase = 'holding', steps = (SELECT jsonb_agg(CASE WHEN i = 1 THEN s || '{"state": "failed"}' ELSE s END ORDER BY i)
		FROM jsonb_array_elements(steps) WITH ORDINALITY AS e (s, i)) WHERE node_name = 'held'`)
	shown := b.Patch("/v1/nodes/held", mend...).Is(200)
	require.Equal(t, "right", shown["instance_info"].(map[string]any)["image_checksum"])
	require.Equal(t, "******", shown["driver_info"].(map[string]any)["redfish_password"])
	require.Contains(t, b.Patch("/v1/nodes/held", apitest.Add("/driver", "fake-hardware")).Fails(409), moving)
	b.SQL(`UPDATE operations SET asked = 'abort' WHERE node_name = 'held'`)
	require.Contains(t, b.Patch("/v1/nodes/held", mend...).Fails(409), moving)
}

func TestANodeThatNobodyCoversCanBeMovedInTheMiddle(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Operations.Err = fault.New(fault.Unavailable, "no Temporal")
	b.In("stuck", node.DeployWait)
	move := apitest.Replace("/conductor_group", "other")
	require.Contains(t, b.Patch("/v1/nodes/stuck", move).Fails(409), "while a state transition is in progress")
	b.Kill("c1", "c2")
	b.Patch("/v1/nodes/stuck", move).Fails(503)
	b.Conductor("o1", "other", "fake-hardware")
	b.Patch("/v1/nodes/stuck", apitest.Replace("/resource_class", "gold")).Fails(409)
	b.Operations.Err = nil
	b.Patch("/v1/nodes/stuck", move).Is(200)
	o := b.LastOperation("stuck")
	require.Equal(t, "other", o.Group, "its steps go there")
	require.Nil(t, o.EndedAt)
	require.Contains(t, strings.Join(b.Operations.Told(), "\n"), "nudge "+strconv.FormatInt(o.ID, 10))
	require.Equal(t, "wait call-back", b.Field("stuck", "provision_state"))
	b.Patch("/v1/nodes/stuck", apitest.Replace("/conductor_group", "")).Fails(409)
}
