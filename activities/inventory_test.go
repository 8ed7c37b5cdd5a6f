package activities_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// collecting is an inspection whose agent has sent its inventory.
func collecting(t *testing.T) *bench {
	t.Helper()
	inband := map[string]string{"deploy": "direct", "inspect": "agent", "boot": "fake", "network": "noop"}
	b := newBench(t, node.KindInspect, node.Inspecting, bmc.PowerOn, inband, plan.Options{})
	now := time.Now()
	b.change(func(n *node.Node) {
		n.Operation.Steps[0].State = node.StepDone
		n.Agent = &node.Agent{InspectedAt: &now}
	})
	return b
}

// Of what an agent sends, only valid values become properties and ports.
func TestAnInventoryIsHeldToWhatANodeCanHave(t *testing.T) {
	t.Parallel()
	b := collecting(t)
	nic := func(mac any) map[string]any { return map[string]any{"mac_address": mac} }
	b.book.sends(map[string]any{
		"cpu":  map[string]any{"count": -4.0, "architecture": strings.Repeat("x", 1<<20)},
		"boot": map[string]any{"current_boot_mode": "drop table"},
		"interfaces": []any{
			nic("52:54:00:00:00:01"), nic("52-54-00-00-00-02"), nic("00:00:00:00:00:00"), nic("ff:ff:ff:ff:ff:ff"), nic("01:00:5e:00:00:01"),
			nic("52:54:00:00:00:00:00:01"), nic(nil), nic(7.0), nic("52:54:00"),
		},
	}, nil)
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, b.node().Properties)
	require.Len(t, b.book.inspected.Ports, 2)
	require.Equal(t, "52:54:00:00:00:02", b.book.inspected.Ports[1].Address)
}

// To which switch an interface is connected, and which disk is the root device, is what the agent has seen and what the node's hints say.
func TestAnInventorySaysTheSwitchPortAndTheRootDisk(t *testing.T) {
	t.Parallel()
	b := collecting(t)
	b.change(func(n *node.Node) { n.Properties = map[string]any{"root_device": map[string]any{"name": "/dev/sdb"}} })
	nic := func(name, mac string) map[string]any { return map[string]any{"name": name, "mac_address": mac} }
	disk := func(name string, gib float64) map[string]any {
		return map[string]any{"name": name, "size": gib * (1 << 30)}
	}
	b.book.sends(map[string]any{
		"interfaces": []any{nic("eth0", "52:54:00:00:00:01"), nic("eth1", "52:54:00:00:00:02"), nic("eth2", "52:54:00:00:00:03")},
		"disks":      []any{disk("/dev/sda", 100), disk("/dev/sdb", 500)},
	}, map[string]any{"parsed_lldp": map[string]any{
		"eth0": map[string]any{"switch_chassis_id": "AA:BB:CC:00:00:01", "switch_port_id": "Ethernet1/1", "switch_system_name": "leaf-1"},
		"eth1": map[string]any{"switch_chassis_id": "leaf-2", "switch_port_id": "Ethernet1/2"},
	}})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, "499", b.node().Properties["local_gb"])
	require.Equal(t, map[string]any{"switch_id": "aa:bb:cc:00:00:01", "port_id": "Ethernet1/1", "switch_info": "leaf-1"}, b.book.inspected.Ports[0].LocalLinkConnection)
	require.Empty(t, b.book.inspected.Ports[1].LocalLinkConnection, "its chassis id is no MAC")
	require.Empty(t, b.book.inspected.Ports[2].LocalLinkConnection)
}

// An inspection without an interface that could be a port fails, as with Ironic's hook validate-interfaces.
func TestAnInventoryNeedsAValidNetworkInterface(t *testing.T) {
	t.Parallel()
	for words, interfaces := range map[string][]any{
		"no valid network interfaces: the inventory has none": nil,
		"the inventory has ib0 without a MAC address, eth0 with the MAC address 00:00:00:00:00:00": {
			map[string]any{"name": "ib0"}, map[string]any{"name": "eth0", "mac_address": "00:00:00:00:00:00"},
		},
		"the inventory has lo with": {map[string]any{"name": "lo", "mac_address": "52:54:00:00:00:01"}},
	} {
		b := collecting(t)
		b.book.sends(map[string]any{"interfaces": interfaces}, nil)
		_, err := b.run()
		require.True(t, final(err))
		require.ErrorContains(t, err, words)
		require.Equal(t, fault.InspectionFailed, b.op().Steps[1].Cause)
	}

	b := collecting(t)
	b.book.sends(map[string]any{
		"boot":       map[string]any{"pxe_interface": "01-52-54-00-00-00-02"},
		"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:01"}, map[string]any{"name": "eth1", "mac_address": "52:54:00:00:00:02"}},
	}, nil)
	_, err := b.run()
	require.NoError(t, err)
	require.False(t, b.book.inspected.Ports[0].PXEEnabled)
	require.True(t, b.book.inspected.Ports[1].PXEEnabled)
}

// The devices of each alias are counted in the capabilities, whose others stay.
func TestAnInspectionCountsPCIDevices(t *testing.T) {
	t.Parallel()
	b := collecting(t)
	b.steps.Settings.PCIAliases = map[string]string{"10de:20b0": "gpu", "10de:20f1": "gpu", "8086:1521": "nic", "15b3:1017": "hca"}
	b.change(func(n *node.Node) { n.Properties = map[string]any{"capabilities": "boot_mode:uefi,hca:2"} })
	device := func(vendor, product string) any { return map[string]any{"vendor_id": vendor, "product_id": product} }
	b.book.sends(map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:01"}}}, map[string]any{
		"pci_devices": []any{device("10de", "20b0"), device("10DE", "20F1"), device("8086", "1521"), device("1af4", "1000"), "nonsense"},
	})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, "boot_mode:uefi,gpu:2,nic:1", b.node().Properties["capabilities"])
}

// If the database does not accept an inventory in time, the step is not retried for ever.
func TestAnInventoryBeyondTheDatabasesDeadlineFails(t *testing.T) {
	t.Parallel()
	b := collecting(t)
	b.steps.Store = slowToRead{b.book}
	var s testsuite.WorkflowTestSuite
	env := s.NewTestWorkflowEnvironment()
	env.RegisterActivity(b.steps)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 100},
		})
		return workflow.ExecuteActivity(ctx, b.steps.RunSteps, conductor.StepsInput{Operation: b.book.op, Node: uuid, Seq: 1}).Get(ctx, nil)
	})
	err := env.GetWorkflowError()
	require.ErrorContains(t, err, "statement timeout")
	require.True(t, final(err))
	require.Less(t, b.op().Claim.Attempt, int32(30))
	require.Equal(t, conductor.StepLimit, b.op().Steps[1].Failures)
}

// slowToRead is a database that can't read an inventory within the time that a statement has.
type slowToRead struct{ *book }

func (slowToRead) Inventory(context.Context, string) (inventory, plugin map[string]any, err error) {
	return nil, nil, fault.New(fault.Unavailable, "the database says: canceling statement due to statement timeout")
}
