package api_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/node"
)

func TestCreateNode(t *testing.T) {
	b := newBench(t).withConductors()
	id := uuid.NewString()
	body := b.post("/v1/nodes", map[string]any{
		"uuid": id, "driver": "redfish", "name": "n1", "resource_class": "gold", "owner": "alice", "conductor_group": "",
		"driver_info":   map[string]any{"redfish_address": "https://bmc", "redfish_password": "hunter2"},
		"instance_info": map[string]any{"configdrive": "aGVsbG8=", "image_url": "http://x/secret"},
		"properties":    map[string]any{"cpus": 8, "memory_mb": 16384}, "extra": nil, "automated_clean": "false", "maintenance": true,
	}).is(201)
	require.Equal(t, "http://temper.test:6385/v1/nodes/"+id, b.last.header.Get("Location"))
	require.Equal(t, id, body["uuid"])
	require.Equal(t, "enroll", body["provision_state"])
	require.Equal(t, map[string]any{"redfish_address": "https://bmc", "redfish_password": "******"}, body["driver_info"])
	require.Equal(t, map[string]any{"configdrive": "******", "image_url": "******"}, body["instance_info"])
	require.Equal(t, map[string]any{"cpus": 8.0, "memory_mb": 16384.0}, body["properties"])
	require.Equal(t, map[string]any{}, body["extra"])
	require.Equal(t, false, body["automated_clean"])
	require.Equal(t, true, body["maintenance"])
	require.Equal(t, "redfish-virtual-media", body["boot_interface"])
	require.Equal(t, "direct", body["deploy_interface"])
	require.Contains(t, []any{"c1", "c2"}, body["conductor"])
	require.Nil(t, body["reservation"])

	secrets, err := b.credentials(id)
	require.NoError(t, err)
	require.Equal(t, "hunter2", secrets["driver_info/redfish_password"])
	require.Equal(t, "aGVsbG8=", secrets["instance_info/configdrive"])
	require.NotContains(t, string(b.get("/v1/nodes/"+id).raw), "hunter2")
	require.NotContains(t, string(b.get("/v1/nodes/"+id+"/history").raw), "hunter2")
}

func TestCreateNodeIsRefused(t *testing.T) {
	b := newBench(t).withConductors()
	b.conductor("c3", "far", "fake-hardware")
	id := b.enrolled("n1")
	for name, c := range map[string]struct {
		body   any
		status int
		words  string
	}{
		"no driver":       {map[string]any{}, 400, "Schema error for node: 'driver' is a required property"},
		"a driver nobody": {map[string]any{"driver": "ipmi"}, 400, `No valid host was found. Reason: No conductor service registered which supports driver ipmi for conductor group "". Ensure the driver is valid and enabled.`},
		"a driver that the group does not have": {
			map[string]any{"driver": "redfish", "conductor_group": "FAR"},
			400,
			`No valid host was found. Reason: No conductor service registered which supports driver redfish for conductor group "far". Ensure the driver is valid and enabled.`,
		},
		"a name that is taken":         {map[string]any{"driver": "fake-hardware", "name": "n1"}, 409, "A node with name n1 already exists."},
		"a uuid that is taken":         {map[string]any{"driver": "fake-hardware", "uuid": id}, 409, "A node with UUID " + id + " already exists."},
		"an interface nobody knows":    {map[string]any{"driver": "redfish", "deploy_interface": "ansible"}, 400, "deploy interface implementation 'ansible' is not supported by hardware type redfish."},
		"a field that is none":         {map[string]any{"driver": "redfish", "colour": "red"}, 400, "Unexpected arguments: colour"},
		"a field that is not for them": {map[string]any{"driver": "redfish", "provision_state": "active"}, 400, "Unexpected arguments: provision_state"},
		"a uuid that is none":          {map[string]any{"driver": "redfish", "uuid": "x"}, 400, "Expected UUID for uuid: x"},
		"driver_info that is a list":   {map[string]any{"driver": "redfish", "driver_info": []int{1}}, 400, "Schema error for node: driver_info: a list is not of type 'object', 'null'"},
		"a flag that is none":          {map[string]any{"driver": "redfish", "maintenance": "perhaps"}, 400, ""},
		"a long resource class":        {map[string]any{"driver": "redfish", "resource_class": strings.Repeat("x", 81)}, 400, ""},
		"a bad conductor group":        {map[string]any{"driver": "redfish", "conductor_group": "a b"}, 400, "Expected a conductor group but received a b."},
		"protection from the start":    {map[string]any{"driver": "redfish", "protected": true}, 400, "Unexpected arguments: protected"},
		"a NUL in a name":              {map[string]any{"driver": "redfish", "extra": map[string]any{"a": "x\x00"}}, 400, ""},
		"a mask instead of a secret":   {map[string]any{"driver": "redfish", "driver_info": map[string]any{"redfish_password": "******"}}, 400, ""},
		"a chassis":                    {map[string]any{"driver": "redfish", "chassis_uuid": id}, 400, ""},
		"a parent nobody knows":        {map[string]any{"driver": "redfish", "parent_node": uuid.NewString()}, 400, ""},
		"a reason without retirement":  {map[string]any{"driver": "redfish", "retired_reason": "old"}, 400, "The retired_reason field can only be set when retired is True"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			words := b.post("/v1/nodes", c.body).fails(c.status)
			if c.words != "" {
				require.Equal(t, c.words, words)
			}
		})
	}
	b.t = t
	require.Len(t, b.get("/v1/nodes").is(200)["nodes"], 1, "a refused request creates nothing")

	none := newBench(t)
	none.post("/v1/nodes", map[string]any{"driver": "redfish"}).fails(503)
	stopped := none.conductor("c9", "", "redfish")
	none.post("/v1/nodes", map[string]any{"driver": "redfish"}).is(201)
	require.NoError(t, none.store.StopConductor(t.Context(), "c9", stopped))
	none.post("/v1/nodes", map[string]any{"driver": "redfish"}).fails(503)
}

func TestListNodes(t *testing.T) {
	b := newBench(t, func(c *api.Config) { c.MaxLimit = 4 }).withConductors()
	for i := range 10 {
		b.post("/v1/nodes", map[string]any{
			"driver": "fake-hardware", "name": fmt.Sprintf("n%d", i), "owner": []string{"alice", "bob"}[i%2],
			"resource_class": "gold", "shard": []string{"s1", "s2"}[i%2], "description": fmt.Sprintf("Rack %d", i/5),
		}).is(201)
	}
	names := func(first string) (out []string) {
		for path := first; path != ""; {
			body := b.get(path).is(200)
			for _, n := range body["nodes"].([]any) {
				out = append(out, n.(map[string]any)["name"].(string))
			}
			path, _ = body["next"].(string)
			path = strings.TrimPrefix(path, "http://temper.test:6385")
		}
		return out
	}
	for query, want := range map[string]string{
		"":                                "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?limit=3":                        "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?limit=1000":                     "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?sort_key=name&sort_dir=desc":    "n9 n8 n7 n6 n5 n4 n3 n2 n1 n0",
		"?owner=bob&limit=2":              "n1 n3 n5 n7 n9",
		"?owner=bob&fields=name,owner":    "n1 n3 n5 n7 n9",
		"?shard=s2,s3":                    "n1 n3 n5 n7 n9",
		"?description_contains=rack%201":  "n5 n6 n7 n8 n9",
		"?provision_state=active":         "",
		"?provision_state=enroll&limit=9": "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?project=alice&detail=true":      "n0 n2 n4 n6 n8",
		"/detail?owner=alice&limit=1":     "n0 n2 n4 n6 n8",
	} {
		require.Equal(t, want, strings.Join(names("/v1/nodes"+query), " "), query)
	}
	// Filters that are computed are applied before the page is cut.
	all := append(names("/v1/nodes?conductor=c1&limit=1"), names("/v1/nodes?conductor=c2")...)
	require.Len(t, all, 10)

	one := b.get("/v1/nodes?limit=1").is(200)
	first := one["nodes"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state", "links"}, keys(first))
	require.Equal(t, "http://temper.test:6385/v1/nodes?limit=1&marker="+first["uuid"].(string), one["next"])
	fields := b.get("/v1/nodes/n1?fields=uuid,traits,conductor").is(200)
	require.ElementsMatch(t, []string{"uuid", "traits", "conductor", "links"}, keys(fields))

	for query, words := range map[string]string{
		"limit=0":                            "Limit must be positive",
		"limit=-1":                           "Limit must be positive",
		"limit=x":                            "Expected an integer for limit: x",
		"marker=x":                           "Expected UUID for marker: x",
		"sort_key=driver_info":               "The sort_key value driver_info is an invalid field for sorting",
		"sort_key=nonsense":                  "The sort_key value nonsense is an invalid field for sorting",
		"sort_dir=up":                        "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'",
		"fields=uuid,colour":                 `Field(s) "colour" are not valid`,
		"fields=uuid&detail=true":            "Can not specify ?detail=True and fields in the same request.",
		"colour=red":                         "Unexpected arguments: colour",
		"provision_state=dancing":            `Provision state "dancing" is not valid`,
		"maintenance=perhaps":                "",
		"fault=toothache":                    "",
		"instance_uuid=x":                    "Expected UUID for instance_uuid: x",
		"marker=" + uuid.NewString():         "",
		"owner=" + strings.Repeat("a", 9000): "The value of owner is longer than 8192 bytes",
	} {
		a := b.get("/v1/nodes?" + query)
		require.Contains(t, []int{400, 404}, a.status, query)
		got := a.fails(a.status)
		if words != "" {
			require.Equal(t, words, got, query)
		}
	}
}

func keys(m map[string]any) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestEveryFilterStaysInTheNextLink(t *testing.T) {
	b := newBench(t).withConductors()
	instance := uuid.NewString()
	for i := range 2 {
		b.post("/v1/nodes", map[string]any{"driver": "fake-hardware", "owner": "a", "lessee": "l", "shard": "s", "resource_class": "r", "description": fmt.Sprint("d", i)}).is(201)
	}
	b.sql(`UPDATE nodes SET maintenance = true, retired = true, fault = 'power failure'`)
	_ = instance
	filters := url.Values{
		"associated": {"false"}, "maintenance": {"true"}, "retired": {"true"}, "provision_state": {"enroll"}, "driver": {"fake-hardware"},
		"resource_class": {"r"}, "fault": {"power failure"}, "conductor_group": {""}, "owner": {"a"}, "lessee": {"l"}, "shard": {"s"},
		"sharded": {"true"}, "description_contains": {"d"}, "include_children": {"true"}, "fields": {"uuid"}, "sort_key": {"created_at"}, "sort_dir": {"desc"},
	}
	filters.Set("limit", "1")
	next, err := url.Parse(b.get("/v1/nodes?" + filters.Encode()).is(200)["next"].(string))
	require.NoError(t, err)
	for name, v := range filters {
		require.Equal(t, v, next.Query()[name], name)
	}
	require.Len(t, b.get(next.RequestURI()).is(200)["nodes"], 1)
}

func TestPatchNode(t *testing.T) {
	b := newBench(t).withConductors()
	id := b.post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://a", "redfish_password": "one", "redfish_system_id": "/redfish/v1/Systems/1", "x": 1},
	}).is(201)["uuid"].(string)
	body := b.patch("/v1/nodes/n1", replace("/driver_info/redfish_system_id", "/redfish/v1/Systems/2"), add("/extra/rack", map[string]any{"u": 3}),
		add("/properties/capabilities", "boot_mode:uefi"), replace("/name", "n2"), remove("/driver_info/x"), add("/maintenance", true)).is(200)
	require.Equal(t, map[string]any{"redfish_address": "https://a", "redfish_password": "******", "redfish_system_id": "/redfish/v1/Systems/2"}, body["driver_info"])
	require.Equal(t, map[string]any{"rack": map[string]any{"u": 3.0}}, body["extra"])
	require.Equal(t, "n2", body["name"])
	require.Equal(t, true, body["maintenance"])
	require.NotNil(t, body["updated_at"])

	secret := func() any {
		s, err := b.credentials(id)
		require.NoError(t, err)
		return s["driver_info/redfish_password"]
	}
	require.Equal(t, "one", secret(), "what was not touched stays")
	b.patch("/v1/nodes/n2", replace("/driver_info", map[string]any{"redfish_address": "https://a", "redfish_password": "******"})).is(200)
	require.Equal(t, "one", secret(), "the mask stands for what is there")
	b.patch("/v1/nodes/n2", replace("/driver_info/redfish_password", "swordfish")).is(200)
	require.Equal(t, "swordfish", secret())
	require.NotContains(t, string(b.last.raw), "swordfish")
	b.patch("/v1/nodes/n2", remove("/driver_info/redfish_password")).is(200)
	require.Nil(t, secret())
	b.patch("/v1/nodes/n2", add("/driver_info/redfish_password", "******")).fails(400)

	b.patch("/v1/nodes/n2", remove("/name"), remove("/extra"), remove("/maintenance"), remove("/owner")).is(200)
	require.Nil(t, b.field(id, "name"))
	require.Equal(t, map[string]any{}, b.field(id, "extra"))
	require.Equal(t, false, b.field(id, "maintenance"))
}

func TestPatchNodeIsRefused(t *testing.T) {
	b := newBench(t).withConductors()
	id := b.enrolled("n1")
	b.enrolled("taken")
	before := string(b.get("/v1/nodes/" + id).raw)
	for name, c := range map[string]struct {
		body   any
		status int
		words  string
	}{
		"no list":                         {map[string]any{"op": "add"}, 400, "The request body must be a list of patch operations, "},
		"an operation that is no object":  {[]any{1}, 400, ""},
		"an unknown operation":            {[]op{{"op": "move", "from": "/a", "path": "/extra/b"}}, 400, ""},
		"test, which RFC 6902 has":        {[]op{{"op": "test", "path": "/extra/b", "value": 1}}, 400, ""},
		"no path":                         {[]op{{"op": "remove"}}, 400, ""},
		"a path with a dot":               {[]op{add("/extra/a.b", 1)}, 400, ""},
		"the whole document":              {[]op{add("", map[string]any{})}, 400, ""},
		"no value":                        {[]op{{"op": "add", "path": "/extra/a"}}, 400, ""},
		"an unknown field":                {[]op{add("/colour", "red")}, 400, "Cannot patch /colour. Only the following can be updated: "},
		"a field that is not for clients": {[]op{replace("/provision_state", "active")}, 400, "Cannot patch /provision_state. Only the following can be updated: "},
		"the reservation":                 {[]op{remove("/reservation")}, 400, "Cannot patch /reservation. "},
		"traits":                          {[]op{add("/traits", []string{"CUSTOM_A"})}, 400, "Cannot patch /traits. "},
		"something that is not there":     {[]op{remove("/extra/nothing")}, 400, "Couldn't apply patch 'remove /extra/nothing'. Reason: can't remove a non-existent object 'nothing'"},
		"another value of what is not":    {[]op{replace("/extra/nothing", 1)}, 400, "Couldn't apply patch 'replace /extra/nothing'. Reason: can't replace a non-existent object 'nothing'"},
		"a number that nothing can hold":  {`[{"op":"add","path":"/extra/a","value":1e400}]`, 400, "The request body has the number 1e400, which is out of range"},
		"below something that is not":     {[]op{add("/extra/a/b", 1)}, 400, "Couldn't apply patch 'add /extra/a/b'. Reason: "},
		"no driver":                       {[]op{remove("/driver")}, 400, "Schema error for node: driver: "},
		"a driver nobody has":             {[]op{replace("/driver", "ipmi")}, 400, "No valid host was found. "},
		"a group nobody is in":            {[]op{replace("/conductor_group", "moon")}, 400, "No valid host was found. "},
		"a driver with other interfaces":  {[]op{replace("/driver", "redfish")}, 400, ""},
		"a name that is taken":            {[]op{replace("/name", "taken")}, 409, "A node with name taken already exists."},
		"a dictionary that is none":       {[]op{replace("/extra", "x")}, 400, "Schema error for node: extra: "},
		"another's parent":                {[]op{replace("/parent_node", id)}, 400, "can not be its own parent"},
		"a parent nobody knows":           {[]op{replace("/parent_node", uuid.NewString())}, 400, "could not be found"},
		"a parent that is a word":         {[]op{replace("/parent_node", "n2")}, 400, ""},
		"a chassis":                       {[]op{replace("/chassis_uuid", id)}, 400, "Chassis"},
		"a long description":              {[]op{replace("/description", strings.Repeat("x", 4097))}, 400, "Schema error for node: description: "},
		"a health":                        {[]op{replace("/instance_name", "x")}, 406, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			require.Contains(t, b.at(newest, "PATCH", "/v1/nodes/n1", c.body).fails(c.status), c.words)
		})
	}
	b.t = t
	require.Equal(t, before, string(b.get("/v1/nodes/"+id).raw), "a refused request changes nothing")
	b.patch("/v1/nodes/nosuch", replace("/extra", nil)).fails(404)
	b.at(newest, "PATCH", "/v1/nodes/n1?reset_interfaces=true", []op{replace("/extra", nil)}).fails(400)
	b.at(44, "PATCH", "/v1/nodes/n1?reset_interfaces=true", []op{replace("/driver", "redfish")}).fails(406)
	reset := b.at(newest, "PATCH", "/v1/nodes/n1?reset_interfaces=true", []op{replace("/driver", "redfish")}).is(200)
	require.Equal(t, "redfish", reset["power_interface"])
}

func TestPatchOfANodeThatIsHeld(t *testing.T) {
	b := newBench(t).withConductors()
	busy := b.in("busy", node.Deploying)
	moving := "Node " + busy + " can not be updated while a state transition is in progress."
	requireHint(t, moving, b.patch("/v1/nodes/busy", replace("/driver_info", map[string]any{"a": 1})).fails(409))
	requireHint(t, moving, b.patch("/v1/nodes/busy", replace("/instance_info", map[string]any{"a": 1})).fails(409))
	requireHint(t, moving, b.patch("/v1/nodes/busy", replace("/shard", "s")).fails(409))
	b.patch("/v1/nodes/busy", replace("/description", "written at any time"), add("/extra/a", 1), replace("/maintenance", true)).is(200)

	b.in("done", node.Active)
	b.put("/v1/nodes/done/states/power", map[string]any{"target": "power on"}).is(202)
	require.Contains(t, b.patch("/v1/nodes/done", replace("/properties", nil)).fails(409), "is locked by host ")
	instance := uuid.NewString()
	b.in("claimed", node.Available)
	b.patch("/v1/nodes/claimed", add("/instance_uuid", instance)).is(200)
	require.Equal(t, "Node "+b.field("claimed", "uuid").(string)+" is associated with instance "+instance+".",
		b.patch("/v1/nodes/claimed", add("/instance_uuid", uuid.NewString())).fails(409))
	b.enrolled("other")
	require.Contains(t, b.patch("/v1/nodes/other", add("/instance_uuid", instance)).fails(409), instance)
}

func TestDeleteNode(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	b.delete("/v1/nodes/n1").is(204)
	require.Equal(t, "Node n1 could not be found.", b.get("/v1/nodes/n1").fails(404))
	require.Equal(t, "Node n1 could not be found.", b.delete("/v1/nodes/n1").fails(404))

	b.in("active", node.Active)
	b.delete("/v1/nodes/active").fails(409)
	b.put("/v1/nodes/active/maintenance", map[string]any{"reason": "burnt"}).is(202)
	b.delete("/v1/nodes/active").is(204)

	b.in("protected", node.Active)
	b.patch("/v1/nodes/protected", replace("/protected", true)).is(200)
	b.put("/v1/nodes/protected/maintenance", nil).is(202)
	b.delete("/v1/nodes/protected").fails(403)

	b.in("busy", node.Deploying)
	b.put("/v1/nodes/busy/maintenance", nil).is(202)
	require.Contains(t, b.delete("/v1/nodes/busy").fails(409), "is locked by host c1, please retry after the current operation is completed.")
	b.in("waiting", node.DeployWait)
	b.delete("/v1/nodes/waiting").fails(409)
	b.put("/v1/nodes/waiting/maintenance", nil).is(202)
	b.delete("/v1/nodes/waiting").is(204)
	told := b.ops.toldWhat()
	require.Len(t, told, 2, "that it is paused, and what ran to stop")
	require.Contains(t, told[1], "the node was deleted")
	ops, err := b.store.Operations(context.Background(), node.OperationFilter{Phase: node.Ended})
	require.NoError(t, err)
	require.Len(t, ops, 1)
}

func TestMaintenanceNeverConflicts(t *testing.T) {
	b := newBench(t).withConductors()
	for _, s := range []node.State{node.Deploying, node.CleanWait, node.Active, node.Enroll} {
		name := strings.ReplaceAll(string(s), " ", "-")
		b.in(name, s)
		b.put("/v1/nodes/"+name+"/maintenance", map[string]any{"reason": "disk swap"}).is(202)
		body := b.get("/v1/nodes/" + name).is(200)
		require.Equal(t, true, body["maintenance"])
		require.Equal(t, "disk swap", body["maintenance_reason"])
		b.sql(`UPDATE nodes SET fault = 'clean failure' WHERE name = $1`, name)
		b.delete("/v1/nodes/" + name + "/maintenance").is(202)
		body = b.get("/v1/nodes/" + name).is(200)
		require.Equal(t, []any{false, nil, nil}, []any{body["maintenance"], body["maintenance_reason"], body["fault"]})
	}
	b.put("/v1/nodes/nosuch/maintenance", nil).fails(404)
	b.put("/v1/nodes/active/maintenance", map[string]any{"reason": 3}).fails(400)
	b.put("/v1/nodes/active/maintenance", map[string]any{"why": "x"}).fails(400)
}

func TestWhatAStepFailedForIsMendedWhileItHolds(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("held", node.DeployHold)
	mend := []op{add("/instance_info/image_checksum", "right"), add("/driver_info/redfish_password", "new"), add("/properties/cpu_arch", "x86_64")}
	moving := "can not be updated while a state transition is in progress"
	require.Contains(t, b.patch("/v1/nodes/held", mend...).fails(409), moving, "it waits for a hold step's end, which no change can mend")
	b.sql(`UPDATE operations SET phase = 'holding', steps = (SELECT jsonb_agg(CASE WHEN i = 1 THEN s || '{"state": "failed"}' ELSE s END ORDER BY i)
		FROM jsonb_array_elements(steps) WITH ORDINALITY AS e (s, i)) WHERE node_name = 'held'`)
	shown := b.patch("/v1/nodes/held", mend...).is(200)
	require.Equal(t, "right", shown["instance_info"].(map[string]any)["image_checksum"])
	require.Equal(t, "******", shown["driver_info"].(map[string]any)["redfish_password"])
	require.Contains(t, b.patch("/v1/nodes/held", add("/driver", "fake-hardware")).fails(409), moving)
	b.sql(`UPDATE operations SET asked = 'abort' WHERE node_name = 'held'`)
	require.Contains(t, b.patch("/v1/nodes/held", mend...).fails(409), moving)
}
