package ironic_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

func TestCreateNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := uuid.NewString()
	body := b.Post("/v1/nodes", map[string]any{
		"uuid": id, "driver": "redfish", "name": "n1", "resource_class": "gold", "owner": "alice", "conductor_group": "",
		"driver_info":   map[string]any{"redfish_address": "https://bmc", "redfish_password": "hunter2"},
		"instance_info": map[string]any{"configdrive": "aGVsbG8=", "image_url": "http://x/secret"},
		"properties":    map[string]any{"cpus": 8, "memory_mb": 16384}, "extra": nil, "automated_clean": "false", "maintenance": true,
	}).Is(201)
	require.Equal(t, "http://temper.test:6385/v1/nodes/"+id, b.Last.Header.Get("Location"))
	require.Equal(t, id, body["uuid"])
	require.Equal(t, "enroll", body["provision_state"])
	require.Nil(t, body["provision_updated_at"])
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

	secrets, err := b.Credentials(id)
	require.NoError(t, err)
	require.Equal(t, "hunter2", secrets["driver_info/redfish_password"])
	require.Equal(t, "aGVsbG8=", secrets["instance_info/configdrive"])
	require.NotContains(t, string(b.Get("/v1/nodes/"+id).Body), "hunter2")
	require.NotContains(t, string(b.Get("/v1/nodes/"+id+"/history").Body), "hunter2")
}

func TestCreateNodeIsRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Conductor("c3", "far", "fake-hardware")
	id, other := b.Enrolled("n1"), uuid.NewString()
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
		"a chassis":                    {map[string]any{"driver": "redfish", "chassis_uuid": id}, 400, "Chassis " + id + " could not be found."},
		"a chassis that is no uuid":    {map[string]any{"driver": "redfish", "chassis_uuid": "x"}, 400, "Expected UUID for chassis_uuid: x"},
		"no number of CPUs":            {map[string]any{"driver": "redfish", "uuid": other, "properties": map[string]any{"cpus": "x", "local_gb": -1, "memory_mb": "16"}}, 400, "The following properties for node " + other + ` should be non-negative integers, but provided values are: local_gb=-1, cpus="x"`},
		"a parent nobody knows":        {map[string]any{"driver": "redfish", "parent_node": uuid.NewString()}, 400, ""},
		"a reason without retirement":  {map[string]any{"driver": "redfish", "retired_reason": "old"}, 400, "The retired_reason field can only be set when retired is True"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			words := b.Post("/v1/nodes", c.body).Fails(c.status)
			if c.words != "" {
				require.Equal(t, c.words, words)
			}
		})
	}
	b.T = t
	require.Len(t, b.Get("/v1/nodes").Is(200)["nodes"], 1, "a refused request creates nothing")

	none := apitest.New(t)
	none.Post("/v1/nodes", map[string]any{"driver": "redfish"}).Fails(503)
	stopped := none.Conductor("c9", "", "redfish")
	none.Post("/v1/nodes", map[string]any{"driver": "redfish"}).Is(201)
	require.NoError(t, none.Store.StopConductor(t.Context(), "c9", stopped))
	none.Post("/v1/nodes", map[string]any{"driver": "redfish"}).Fails(503)
}

// Each interface is enabled on some conductor, but no conductor has all of them.
func TestInterfacesOfANodeAreThoseOfOneConductor(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	hw, _ := node.Hardware("redfish")
	some := func(name, kind string) {
		enabled := map[string][]string{}
		for k, impls := range hw.Supports() {
			enabled[k] = impls
		}
		enabled[kind] = nil
		_, err := b.Store.RegisterConductor(t.Context(), coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{"redfish": enabled}})
		require.NoError(t, err)
	}
	some("a", "power")
	some("b", "boot")
	body := map[string]any{"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "http://x"}}
	require.Contains(t, b.Post("/v1/nodes", body).Fails(400), "No valid host was found")
	b.Get("/v1/nodes/n1").Fails(404)
	b.Conductor("c", "", "redfish")
	b.Post("/v1/nodes", body).Is(201)
}

func TestANodeOfADriverOrInterfaceThatNobodyEnablesIsNotCreated(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	mine := map[string]map[string][]string{"fake-hardware": {}}
	hw, _ := node.Hardware("fake-hardware")
	for kind, impls := range hw.Supports() {
		mine["fake-hardware"][kind] = impls[:1]
	}
	_, err := b.Store.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "c1", Interfaces: mine})
	require.NoError(t, err)
	for what, body := range map[string]map[string]any{
		"driver":    {"driver": "ilo", "name": "n1"},
		"interface": {"driver": "fake-hardware", "name": "n1", "bios_interface": hw.Supports()["bios"][1]},
	} {
		b.Post("/v1/nodes", body).Fails(400)
		require.Empty(t, b.Get("/v1/nodes").Is(200)["nodes"], what)
	}
	require.Equal(t, hw.Supports()["bios"][0], b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware"}).Is(201)["bios_interface"])
}
