package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

const liveImage = "http://images/live.iso?token=x"

// liveISO returns a bench whose node is deployed by booting an ISO image, with a medium of an earlier boot in its drive. persistent is the
// node's force_persistent_boot_device.
func liveISO(t *testing.T, persistent string) *bench {
	b := newBenchOf(t, &node.Node{
		UUID: uuid, ProvisionState: node.Deploying, InstanceInfo: map[string]any{"boot_iso": liveImage},
		DriverInfo: map[string]any{"force_persistent_boot_device": persistent},
		Interfaces: map[string]string{"deploy": "autodetect", "boot": "redfish-virtual-media", "network": "noop"},
	}, nil, node.KindDeploy, bmc.PowerOn, plan.Options{})
	b.machine.media = bmc.Media{Inserted: true, Image: "http://images/old.iso"}
	return b
}

func TestAnInstanceThatIsAnISOImageIsBootedAndStaysInTheDrive(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]bmc.Boot{
		"Default": {Device: bmc.DeviceCDROM, Persistent: true},
		"Never":   {}, // the one boot has used it up
	} {
		b := liveISO(t, how)
		r, err := b.run()
		require.NoError(t, err)
		require.Equal(t, conductor.NextClose, r.Next)
		require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
		require.Equal(t, liveImage, b.machine.media.Image)
		require.Equal(t, want, b.machine.boot)
		require.Empty(t, b.op().Undo, "the image belongs to the instance")
	}
}

func TestEveryCrashWhileAnISOImageIsBootedIsMadeUpFor(t *testing.T) {
	t.Parallel()
	whole := liveISO(t, "Always")
	_, err := whole.run()
	require.NoError(t, err)
	require.Greater(t, whole.book.saves, 3)
	for die := 1; die <= whole.book.saves; die++ {
		for _, written := range []bool{false, true} {
			b := liveISO(t, "Always")
			b.steps.Store = &mortal{book: b.book, at: die, written: written}
			_, err := b.run()
			require.Error(t, err, "died at save %d", die)
			b.steps.Store = b.book
			r, err := b.run()
			require.NoError(t, err, "died at save %d", die)
			require.Equal(t, conductor.NextClose, r.Next)
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked, "died at save %d, written %v", die, written)
			require.Equal(t, liveImage, b.machine.media.Image)
			require.Empty(t, b.op().Undo)
		}
	}
}
