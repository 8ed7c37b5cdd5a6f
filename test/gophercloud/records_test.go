package gophercloud_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/conductors"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/drivers"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/ports"
	"github.com/stretchr/testify/require"
)

func testPorts(t *testing.T, c *cloud) {
	ctx := t.Context()
	n := c.create(t, nodes.CreateOpts{Name: "with-ports", Driver: "fake-hardware"})
	no := false
	o := ports.CreateOpts{
		NodeUUID: n.UUID, Address: "52:54:00:aa:00:01", PXEEnabled: &no, PhysicalNetwork: "net1", IsSmartNIC: &no, Extra: map[string]any{"slot": "1"},
		LocalLinkConnection: map[string]any{"switch_id": "0a:1b:2c:3d:4e:5f", "port_id": "Ethernet3/1", "switch_info": "sw1"},
	}
	made, err := ports.Create(ctx, c.ServiceClient, o).Extract()
	require.NoError(t, err)
	p, err := ports.Get(ctx, c.ServiceClient, made.UUID).Extract()
	require.NoError(t, err)
	require.Equal(t, made, p)
	require.Equal(t, []any{o.NodeUUID, o.Address, false, o.PhysicalNetwork, false, o.Extra, o.LocalLinkConnection},
		[]any{p.NodeUUID, p.Address, p.PXEEnabled, p.PhysicalNetwork, p.IsSmartNIC, p.Extra, p.LocalLinkConnection})
	changed, err := ports.Update(ctx, c.ServiceClient, p.UUID, ports.UpdateOpts{
		ports.UpdateOperation{Op: ports.ReplaceOp, Path: "/address", Value: "52:54:00:aa:00:02"},
		ports.UpdateOperation{Op: ports.AddOp, Path: "/extra/cable", Value: "red"},
		ports.UpdateOperation{Op: ports.RemoveOp, Path: "/extra/slot"},
	}).Extract()
	require.NoError(t, err)
	require.Equal(t, []any{"52:54:00:aa:00:02", map[string]any{"cable": "red"}}, []any{changed.Address, changed.Extra})

	for _, o := range []ports.ListOpts{{Node: "with-ports"}, {NodeUUID: n.UUID, SortKey: "address", SortDir: "desc", Limit: 5}, {Address: changed.Address}} {
		page, err := ports.List(c.ServiceClient, o).AllPages(ctx)
		require.NoError(t, err)
		all, err := ports.ExtractPorts(page)
		require.NoError(t, err)
		require.Len(t, all, 1, "%+v", o)
		require.Equal(t, p.UUID, all[0].UUID)
	}
	page, err := ports.ListDetail(c.ServiceClient, ports.ListOpts{NodeUUID: n.UUID}).AllPages(ctx)
	require.NoError(t, err)
	var all []ports.Port
	require.NoError(t, ports.ExtractPortsInto(page, &all))
	require.Equal(t, []ports.Port{*changed}, all)
	require.NoError(t, ports.Delete(ctx, c.ServiceClient, p.UUID).ExtractErr())
	_, err = ports.Get(ctx, c.ServiceClient, p.UUID).Extract()
	status(t, http.StatusNotFound, err)
}

func testAllocations(t *testing.T, c *cloud) {
	ctx := t.Context()
	n := c.create(t, nodes.CreateOpts{Name: "allocated", Driver: "fake-hardware", ResourceClass: "of-allocations"})
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetManage}, nodes.Manageable)
	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetProvide}, nodes.Available)
	o := allocations.CreateOpts{Name: "a1", ResourceClass: "of-allocations", CandidateNodes: []string{n.UUID}, Extra: map[string]string{"job": "7"}}
	made, err := allocations.Create(ctx, c.ServiceClient, o).Extract()
	require.NoError(t, err)
	var a *allocations.Allocation
	require.Eventually(t, func() bool {
		a, err = allocations.Get(ctx, c.ServiceClient, "a1").Extract()
		return err == nil && a.State == allocations.Active
	}, patience, patience/900)
	require.Equal(t, []any{made.UUID, o.Name, o.ResourceClass, o.CandidateNodes, o.Extra, n.UUID},
		[]any{a.UUID, a.Name, a.ResourceClass, a.CandidateNodes, a.Extra, a.NodeUUID})
	require.Equal(t, []string{a.UUID, a.UUID}, []string{c.get(t, n.UUID).AllocationUUID, c.get(t, n.UUID).InstanceUUID})
	for _, o := range []allocations.ListOpts{{Node: n.UUID}, {ResourceClass: "of-allocations", State: allocations.AllocationState(allocations.Active), SortKey: "name", Limit: 3}} {
		page, err := allocations.List(c.ServiceClient, o).AllPages(ctx)
		require.NoError(t, err)
		all, err := allocations.ExtractAllocations(page)
		require.NoError(t, err)
		require.Equal(t, []allocations.Allocation{*a}, all)
		var into []allocations.Allocation
		require.NoError(t, allocations.ExtractAllocationsInto(page, &into))
		require.Equal(t, all, into)
	}
	require.NoError(t, allocations.Delete(ctx, c.ServiceClient, a.UUID).ExtractErr())
	_, err = allocations.Get(ctx, c.ServiceClient, a.UUID).Extract()
	status(t, http.StatusNotFound, err)
	require.Empty(t, c.get(t, n.UUID).AllocationUUID)
}

func testConductors(t *testing.T, c *cloud) {
	ctx := t.Context()
	page, err := conductors.List(c.ServiceClient, conductors.ListOpts{Detail: true}).AllPages(ctx)
	require.NoError(t, err)
	all, err := conductors.ExtractConductors(page)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.True(t, all[0].Alive)
	require.ElementsMatch(t, []string{"redfish", "fake-hardware"}, all[0].Drivers)
	one, err := conductors.Get(ctx, c.ServiceClient, all[0].Hostname).Extract()
	require.NoError(t, err)
	one.UpdatedAt = all[0].UpdatedAt // of its heartbeat
	require.Equal(t, all[0], *one)
	page, err = conductors.List(c.ServiceClient, conductors.ListOpts{Fields: []string{"hostname", "alive"}}).AllPages(ctx)
	require.NoError(t, err)
	var some []conductors.Conductor
	require.NoError(t, conductors.ExtractConductorInto(page, &some))
	require.Equal(t, []conductors.Conductor{{Hostname: one.Hostname, Alive: true}}, some)
}

func testDrivers(t *testing.T, c *cloud) {
	ctx := t.Context()
	page, err := drivers.ListDrivers(c.ServiceClient, drivers.ListDriversOpts{Detail: true, Type: "dynamic"}).AllPages(ctx)
	require.NoError(t, err)
	all, err := drivers.ExtractDrivers(page)
	require.NoError(t, err)
	var into []drivers.Driver
	require.NoError(t, drivers.ExtractDriversInto(page, &into))
	require.Equal(t, all, into)
	require.Len(t, all, 2)
	for _, d := range all {
		one, err := drivers.GetDriverDetails(ctx, c.ServiceClient, d.Name).Extract()
		require.NoError(t, err)
		require.Equal(t, []any{d.Name, "dynamic", d.Hosts, d.EnabledBootInterfaces}, []any{one.Name, one.Type, one.Hosts, one.EnabledBootInterfaces})
		require.Contains(t, one.EnabledPowerInterfaces, one.DefaultPowerInterface)
		methods, err := drivers.ListVendorPassthruMethods(ctx, c.ServiceClient, d.Name).Extract()
		require.NoError(t, err)
		require.Empty(t, methods, "no driver has methods of its own, as with Ironic's redfish")
	}
	properties, err := drivers.GetDriverProperties(ctx, c.ServiceClient, "redfish").Extract()
	require.NoError(t, err)
	require.Contains(t, *properties, "redfish_address")
	disks, err := drivers.GetDriverDiskProperties(ctx, c.ServiceClient, "fake-hardware").Extract()
	require.NoError(t, err)
	require.Contains(t, *disks, "raid_level")
}
