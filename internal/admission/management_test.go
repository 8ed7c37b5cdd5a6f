package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
	"go.temper.dev/temper/internal/plan"
)

func TestARequestToTheManagementInterfaceNeedsAFreeNode(t *testing.T) {
	n := direct(node.Active)
	n.Interfaces["management"] = "redfish"
	d, err := admission.Management(n, node.KindNMI, "")
	require.NoError(t, err)
	require.Equal(t, admission.Effect{Open: node.KindNMI, From: node.Active, To: node.Active}, d)

	n.LastError, n.TargetPowerState = "of before", node.PowerOn
	d.Apply(n)
	require.Equal(t, []any{"of before", node.PowerOn}, []any{n.LastError, n.TargetPowerState})

	n.PowerState = node.PowerOff
	_, err = admission.Management(n, node.KindNMI, "")
	require.NoError(t, err, "somebody may have switched it on since that was read; the step asks the BMC")

	nodetest.Open(node.KindDeploy)(n)
	_, err = admission.Management(n, node.KindNMI, "c1")
	require.Equal(t, fault.NodeLocked, fault.CodeOf(err))
}

func TestABootDeviceIsSetAgainAsItWasAsked(t *testing.T) {
	n := direct(node.Active)
	n.Interfaces["management"] = "redfish"
	want := node.BootDevice{Device: node.DeviceCDROM, Persistent: true}
	steps, err := plan.Steps(node.KindBootDevice, n, nil, plan.Options{BootDevice: want})
	require.NoError(t, err)
	at := n.CreatedAt
	old := &node.Operation{ID: 7, Kind: node.KindBootDevice, Steps: steps, EndedAt: &at, Outcome: node.Failed}
	r, err := admission.Retry(n, old, true, "", plan.Options{})
	require.NoError(t, err)
	require.Equal(t, node.KindBootDevice, r.Open.Kind)
	require.Equal(t, want, r.Open.Steps[0].BootDevice())
}

// The image from which an instance runs is not taken out of the drive by a request about virtual media.
func TestTheMediumOfAnInstanceStays(t *testing.T) {
	n := nodetest.Redfish(func(n *node.Node) {
		n.ProvisionState, n.Interfaces["deploy"], n.InstanceInfo = node.Active, "ramdisk", map[string]any{node.BootISO: "http://images/live.iso"}
	})
	_, err := admission.Management(n, node.KindDetachMedia, "")
	require.ErrorContains(t, err, "runs from the ISO image in its virtual drive")
	n.Interfaces["deploy"] = "direct"
	_, err = admission.Management(n, node.KindDetachMedia, "")
	require.NoError(t, err)
}
