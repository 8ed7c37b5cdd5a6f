package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// secured returns a bench whose instance wants Secure Boot, or has other capabilities.
func secured(t *testing.T, k node.OperationKind, s node.State, capabilities ...any) (*bench, *lights) {
	capabilities = append(capabilities, map[string]any{"boot_mode": "uefi", "secure_boot": "true"})
	b := newBenchOf(t, &node.Node{
		UUID: uuid, ProvisionState: s,
		InstanceInfo: map[string]any{"boot_iso": liveImage, "capabilities": capabilities[0]},
		Interfaces:   map[string]string{"deploy": "ramdisk", "boot": "redfish-virtual-media", "network": "noop"},
	}, nil, k, bmc.PowerOn, plan.Options{})
	l := &lights{mode: bmc.ModeUEFI, secure: true}
	b.machine.lights = l
	return b, l
}

func TestAnInstanceThatWantsSecureBootGetsItAndLosesItWhenItIsGivenBack(t *testing.T) {
	t.Parallel()
	b, l := secured(t, node.KindDeploy, node.Deploying)
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, []string{"Secure Boot false", "Secure Boot true"}, l.sent, "an agent may not be signed")
	require.True(t, *b.node().SecureBoot)

	b, l = secured(t, node.KindUndeploy, node.Deleting)
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"Secure Boot false"}, l.sent)
	require.Equal(t, node.Cleaning, b.node().ProvisionState)
}

func TestAServerWithoutSecureBootIsNotDeployedForAnInstanceThatWantsIt(t *testing.T) {
	t.Parallel()
	b, l := secured(t, node.KindDeploy, node.Deploying, "secure_boot:true")
	l.mode, l.secure = bmc.ModeBIOS, false
	_, err := b.run()
	require.ErrorContains(t, err, "the server boots in the mode bios, which has no Secure Boot")
	require.True(t, final(err))

	b, _ = secured(t, node.KindDeploy, node.Deploying)
	b.machine.lights = nil
	_, err = b.run()
	require.ErrorContains(t, err, "does not support Secure Boot, which the capabilities of the instance want")
	require.True(t, final(err))
}

// The mode is set before the agent boots, which makes the boot loader for it, and after Secure Boot was switched off.
func TestAnInstanceGetsTheBootModeThatItsCapabilitiesWant(t *testing.T) {
	t.Parallel()
	b, l := secured(t, node.KindDeploy, node.Deploying)
	l.mode, l.secure = bmc.ModeBIOS, false
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"boot mode uefi", "Secure Boot true"}, l.sent)
	require.Equal(t, "uefi", b.node().BootMode)

	b, l = secured(t, node.KindDeploy, node.Deploying, "boot_mode:bios")
	l.modes = []bmc.Mode{bmc.ModeUEFI}
	_, err = b.run()
	require.ErrorContains(t, err, "the server can't boot in the mode bios")
	require.True(t, final(err))
	require.Empty(t, l.sent)

	b, _ = secured(t, node.KindDeploy, node.Deploying, "boot_mode:uefi")
	b.machine.lights = nil
	_, err = b.run()
	require.NoError(t, err, "a driver that can't set it leaves it as it is")
}
