package gophercloud_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"
)

func testHardware(t *testing.T, c *cloud) {
	ctx := t.Context()
	n := c.redfish(t, "hardware", c.servers[0])
	valid, err := nodes.Validate(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false}, []bool{valid.Power.Result, valid.Management.Result, valid.Deploy.Result})
	require.NotEmpty(t, valid.Deploy.Reason, "it has no image")
	devices, err := nodes.GetSupportedBootDevices(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.Contains(t, devices, "pxe")
	for _, want := range []nodes.BootDeviceOpts{{BootDevice: "pxe", Persistent: true}, {BootDevice: "cdrom"}} {
		require.NoError(t, nodes.SetBootDevice(ctx, c.ServiceClient, n.UUID, want).ExtractErr())
		have, err := nodes.GetBootDevice(ctx, c.ServiceClient, n.UUID).Extract()
		require.NoError(t, err)
		require.Equal(t, want, *have)
	}

	status(t, http.StatusBadRequest, nodes.InjectNMI(ctx, c.ServiceClient, n.UUID).ExtractErr())
	require.NoError(t, nodes.ChangePowerState(ctx, c.ServiceClient, n.UUID, nodes.PowerStateOpts{Target: nodes.PowerOn}).ExtractErr())
	require.Eventually(t, func() bool { return c.get(t, n.UUID).PowerState == "power on" }, patience, patience/900)
	require.NoError(t, nodes.InjectNMI(ctx, c.ServiceClient, n.UUID).ExtractErr())
	sv, err := c.Server(ctx, c.servers[0].Name)
	require.NoError(t, err)
	require.Equal(t, "Nmi", sv.Actions[len(sv.Actions)-1].Reset)

	c.change(t, n.UUID, nodes.ProvisionStateOpts{Target: nodes.TargetInspect}, nodes.Manageable)
	found, err := nodes.GetInventory(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.NotZero(t, found.Inventory.CPU.Count)
	require.NotZero(t, found.Inventory.Memory.PhysicalMb)
	var macs []string
	for _, i := range found.Inventory.Interfaces {
		macs = append(macs, i.MACAddress)
	}
	require.Subset(t, macs, c.servers[0].MACs)
	_, err = found.PluginData.AsMap()
	require.NoError(t, err)
	_, _, err = found.PluginData.GuessFormat()
	require.NoError(t, err)

	testUpkeep(t, c, n)

	// The network interface noop keeps no VIFs, as Ironic's.
	require.NoError(t, nodes.AttachVirtualInterface(ctx, c.ServiceClient, n.UUID, nodes.VirtualInterfaceOpts{ID: "1974dcfa-836f-41b2-b541-686c100900e5"}).ExtractErr())
	vifs, err := nodes.ListVirtualInterfaces(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.Empty(t, vifs)
	require.NoError(t, nodes.DetachVirtualInterface(ctx, c.ServiceClient, n.UUID, "1974dcfa-836f-41b2-b541-686c100900e5").ExtractErr())
}

// testUpkeep reads a server's settings and firmware, says which volumes it is to have, and attaches a medium.
func testUpkeep(t *testing.T, c *cloud, n *nodes.Node) {
	ctx := t.Context()
	settings, err := nodes.ListBIOSSettings(ctx, c.ServiceClient, n.UUID, nodes.ListBIOSSettingsOpts{Detail: true}).Extract()
	require.NoError(t, err)
	require.NotEmpty(t, settings)
	one := nodes.GetBIOSSetting(ctx, c.ServiceClient, n.UUID, settings[0].Name)
	require.NoError(t, one.Err)
	require.Contains(t, one.Body, settings[0].Name, "its Extract reads a setting of the name Setting only")
	components, err := nodes.ListFirmware(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.NotEmpty(t, components)
	require.NotEmpty(t, components[0].CurrentVersion)

	size := 100
	raid := nodes.RAIDConfigOpts{LogicalDisks: []nodes.LogicalDisk{{SizeGB: &size, RAIDLevel: nodes.RAID1}}}
	require.NoError(t, nodes.SetRAIDConfig(ctx, c.ServiceClient, n.UUID, raid).ExtractErr())
	require.Len(t, c.get(t, n.UUID).TargetRAIDConfig["logical_disks"], 1)

	iso := nodes.AttachVirtualMediaOpts{DeviceType: nodes.VirtualMediaCD, ImageURL: c.RackURL + "/images/deploy.iso"}
	media := func() string {
		sv, err := c.Server(ctx, c.servers[0].Name)
		require.NoError(t, err)
		return sv.Media
	}
	require.NoError(t, nodes.AttachVirtualMedia(ctx, c.ServiceClient, n.UUID, iso).ExtractErr())
	require.Eventually(t, func() bool { return media() == iso.ImageURL && c.get(t, n.UUID).Reservation == "" }, patience, patience/900)
	require.NoError(t, nodes.GetVirtualMedia(ctx, c.ServiceClient, n.UUID).Err)
	require.NoError(t, nodes.DetachVirtualMedia(ctx, c.ServiceClient, n.UUID, nodes.DetachVirtualMediaOpts{}).ExtractErr())
	require.Eventually(t, func() bool { return media() == "" && c.get(t, n.UUID).Reservation == "" }, patience, patience/900)
}

func testSubscriptions(t *testing.T, c *cloud) {
	ctx := t.Context()
	n := c.redfish(t, "subscriptions", c.servers[1])
	methods, err := nodes.ListVendorPassthruMethods(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.Equal(t, []string{"POST"}, methods["create_subscription"].HTTPMethods)
	four, err := nodes.GetVendorPassthruMethods(ctx, c.ServiceClient, n.UUID).Extract()
	require.NoError(t, err)
	require.Equal(t, []string{"GET"}, four.GetAllSubscriptions.HTTPMethods)
	require.NotEmpty(t, four.DeleteSubscription.Description)

	want := nodes.CreateSubscriptionOpts{Destination: "https://events.example.com/", EventTypes: []string{"Alert"}, Context: "mine", Protocol: "Redfish"}
	made, err := nodes.CreateSubscription(ctx, c.ServiceClient, n.UUID, nodes.CallVendorPassthruOpts{Method: "create_subscription"}, want).Extract()
	require.NoError(t, err)
	require.NotEmpty(t, made.Id)
	read, err := nodes.GetSubscription(ctx, c.ServiceClient, n.UUID, nodes.CallVendorPassthruOpts{Method: "get_subscription"}, nodes.GetSubscriptionOpts{Id: made.Id}).Extract()
	require.NoError(t, err)
	require.Equal(t, made, read)
	require.Equal(t, []any{want.EventTypes, want.Context, want.Protocol}, []any{read.EventTypes, read.Context, read.Protocol})
	all, err := nodes.GetAllSubscriptions(ctx, c.ServiceClient, n.UUID, nodes.CallVendorPassthruOpts{Method: "get_all_subscriptions"}).Extract()
	require.NoError(t, err)
	require.Len(t, all.Members, 1)
	plain, err := nodes.CallVendorPassthru(ctx, c.ServiceClient, n.UUID, http.MethodGet, nodes.VendorPassthruCallOpts{Method: "get_all_subscriptions"}).Extract()
	require.NoError(t, err)
	require.Len(t, plain["Members"], 1)
	require.NoError(t, nodes.DeleteSubscription(ctx, c.ServiceClient, n.UUID, nodes.CallVendorPassthruOpts{Method: "delete_subscription"}, nodes.DeleteSubscriptionOpts{Id: made.Id}).ExtractErr())
	all, err = nodes.GetAllSubscriptions(ctx, c.ServiceClient, n.UUID, nodes.CallVendorPassthruOpts{Method: "get_all_subscriptions"}).Extract()
	require.NoError(t, err)
	require.Empty(t, all.Members)
}
