package gophercloud_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"
)

func testNodes(t *testing.T, c *cloud) {
	yes := true
	o := nodes.CreateOpts{
		Name: "all-fields", Driver: "fake-hardware", ResourceClass: "of-nodes", Owner: "ann", ConductorGroup: "", AutomatedClean: &yes, DisablePowerOff: &yes,
		UUID: "5e1b0f0c-6d3c-4a2c-9d0f-2f7b3e0a1c11", DriverInfo: map[string]any{"fake": "x"}, Extra: map[string]any{"rack": "7"},
		Properties: map[string]any{"cpu_arch": "x86_64", "memory_mb": "4096"}, NetworkData: map[string]any{"links": []any{}, "networks": []any{}, "services": []any{}},
		BootInterface: "fake", DeployInterface: "fake", ManagementInterface: "fake", PowerInterface: "fake", NetworkInterface: "noop",
	}
	made := c.create(t, o)
	n := c.get(t, "all-fields")
	require.Equal(t, made, n)
	require.Equal(t, []any{o.UUID, o.Name, o.Driver, o.ResourceClass, o.Owner, o.Extra, o.Properties, o.DriverInfo, o.NetworkData, true, true}, []any{
		n.UUID, n.Name, n.Driver, n.ResourceClass, n.Owner, n.Extra, n.Properties, n.DriverInfo, n.NetworkData, *n.AutomatedClean, n.DisablePowerOff,
	})
	require.Equal(t, []string{"fake", "fake", "fake", "fake", "noop", "enroll"},
		[]string{n.BootInterface, n.DeployInterface, n.ManagementInterface, n.PowerInterface, n.NetworkInterface, n.ProvisionState})
	require.False(t, n.CreatedAt.IsZero())
	var more struct {
		Chassis *string `json:"chassis_uuid"`
		Shard   *string `json:"shard"`
	}
	require.NoError(t, nodes.Get(t.Context(), c.ServiceClient, n.UUID).ExtractInto(&more))
	require.Nil(t, more.Chassis)

	changed, err := nodes.Update(t.Context(), c.ServiceClient, n.UUID, nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.ReplaceOp, Path: "/name", Value: "renamed"},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/extra/shelf", Value: 3},
		nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/extra/rack"},
	}).Extract()
	require.NoError(t, err)
	require.Equal(t, []any{"renamed", map[string]any{"shelf": 3.0}}, []any{changed.Name, changed.Extra})
	require.Equal(t, changed, c.get(t, n.UUID))

	require.NoError(t, nodes.SetMaintenance(t.Context(), c.ServiceClient, n.UUID, nodes.MaintenanceOpts{Reason: "a new fan"}).ExtractErr())
	n = c.get(t, n.UUID)
	require.Equal(t, []any{true, "a new fan"}, []any{n.Maintenance, n.MaintenanceReason})
	testLists(t, c, n)
	require.NoError(t, nodes.UnsetMaintenance(t.Context(), c.ServiceClient, n.UUID).ExtractErr())
	require.False(t, c.get(t, n.UUID).Maintenance)

	valid, err := nodes.Validate(t.Context(), c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.True(t, valid.Power.Result)
	require.Empty(t, valid.Power.Reason)

	require.NoError(t, nodes.Delete(t.Context(), c.ServiceClient, n.UUID).ExtractErr())
	_, err = nodes.Get(t.Context(), c.ServiceClient, n.UUID).Extract()
	status(t, http.StatusNotFound, err)
}

// testLists finds n, which is in maintenance, in the lists.
func testLists(t *testing.T, c *cloud, n *nodes.Node) {
	for _, o := range []nodes.ListOpts{
		{Owner: "ann"}, {ResourceClass: "of-nodes"}, {Maintenance: true, Driver: "fake-hardware"}, {ProvisionState: nodes.Enroll, Owner: "ann", SortKey: "name", SortDir: "desc", Limit: 10},
	} {
		page, err := nodes.List(c.ServiceClient, o).AllPages(t.Context())
		require.NoError(t, err)
		all, err := nodes.ExtractNodes(page)
		require.NoError(t, err)
		require.Len(t, all, 1, "%+v", o)
		require.Equal(t, []string{n.UUID, n.Name}, []string{all[0].UUID, all[0].Name})
	}
	o := nodes.ListOpts{Owner: "ann"}
	page, err := nodes.ListDetail(c.ServiceClient, o).AllPages(t.Context())
	require.NoError(t, err)
	var all []nodes.Node
	require.NoError(t, nodes.ExtractNodesInto(page, &all))
	require.Equal(t, []nodes.Node{*n}, all)
	o.Fields = []string{"uuid", "extra"}
	page, err = nodes.List(c.ServiceClient, o).AllPages(t.Context())
	require.NoError(t, err)
	all, err = nodes.ExtractNodes(page)
	require.NoError(t, err)
	require.Equal(t, []nodes.Node{{UUID: n.UUID, Extra: n.Extra, Links: n.Links}}, all)
	page, err = nodes.List(c.ServiceClient, nodes.ListOpts{Owner: "nobody"}).AllPages(t.Context())
	require.NoError(t, err)
	empty, err := page.IsEmpty()
	require.NoError(t, err)
	require.True(t, empty)
}

func testStates(t *testing.T, c *cloud) {
	n := c.create(t, nodes.CreateOpts{Name: "in-states", Driver: "fake-hardware", ResourceClass: "of-states"})
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetManage}, nodes.Manageable)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetClean, CleanSteps: []nodes.CleanStep{
		{Interface: nodes.InterfaceDeploy, Step: "erase_devices"},
	}}, nodes.Manageable)
	for target, want := range map[nodes.TargetPowerState]string{nodes.PowerOn: "power on", nodes.PowerOff: "power off", nodes.Rebooting: "power on"} {
		require.NoError(t, nodes.ChangePowerState(t.Context(), c.ServiceClient, n.UUID, nodes.PowerStateOpts{Target: target, Timeout: 10}).ExtractErr())
		require.Eventually(t, func() bool {
			now := c.get(t, n.UUID)
			return now.PowerState == want && now.TargetPowerState == ""
		}, patience, patience/900, "%s", target)
	}
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetProvide}, nodes.Available)
	_, err := nodes.Update(t.Context(), c.ServiceClient, n.UUID, nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info/image_source", Value: c.RackURL + "/images/disk.raw"},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info/image_checksum", Value: c.RackURL + "/images/SHA256SUMS"},
	}).Extract()
	require.NoError(t, err)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetActive, ConfigDrive: nodes.ConfigDrive{
		MetaData: map[string]any{"hostname": "h"}, UserData: "#cloud-config",
	}}, nodes.Active)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetRescue, RescuePassword: "hunter2"}, nodes.Rescue)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetUnrescue}, nodes.Active)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetRebuild}, nodes.Active)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetDeleted}, nodes.Available)
	status(t, http.StatusBadRequest, nodes.ChangeProvisionState(t.Context(), c.ServiceClient, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetUnhold}).ExtractErr())
}
