package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

// Of a node that was never inspected, nobody knows the disks before its agent has called.
func TestAnImageThatIsLargerThanTheDiskFailsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disk, size int64
		hints      map[string]any // root device hints
		fits       bool
	}{
		"larger than the disk":                         {disk: 5 << 30, size: 6 << 30},
		"as large as the disk":                         {disk: 5 << 30, size: 5 << 30, fits: true},
		"of unknown size":                              {disk: 5 << 30, fits: true},
		"smaller than any disk that an agent takes":    {disk: 1 << 20, size: 4 << 30, fits: true}, // the agent refuses such a disk itself
		"larger than the disk of the root device hint": {disk: 1 << 30, size: 2 << 30, hints: map[string]any{"name": "/dev/sda"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			api, calls := agentAPI(t, func() *book { return r.book })
			r = newRig(t, sim.Config{NoInspection: true, DiskBytes: c.disk}, node.KindDeploy, node.Deploying, api,
				node.Step{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending},
				node.Step{Index: 1, Interface: "deploy", Step: "write_image", Source: node.SourceDriver, State: node.StepPending})
			if c.hints != nil {
				r.change(func(n *node.Node) { n.Properties = map[string]any{"root_device": c.hints} })
			}
			r.steps.Image = func(context.Context, conductor.ImageRequest) (agent.ImageInfo, int64, error) {
				return agent.ImageInfo{ID: "disk.raw", URLs: []string{"http://127.0.0.1:1/disk.raw"}, DiskFormat: "raw", HashAlgo: "sha256", HashValue: "00"}, c.size, nil
			}
			res, err := r.run()
			require.NoError(t, err)
			if res.Next == conductor.NextAgent {
				<-calls
			}
			sent := 0
			r.book.onSave = func(int) {
				if i := r.op().Steps[1].Issued; i != nil && i.Command == agent.ExecuteDeployStep {
					sent++
				}
			}
			_, err = r.run()
			require.Error(t, err, "there is no such image")
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			if c.fits {
				require.NotEqual(t, fault.DiskTooSmall, activities.CauseOf(err))
				return
			}
			require.Equal(t, fault.DiskTooSmall, activities.CauseOf(err))
			require.True(t, app.NonRetryable(), "it does not become larger by itself")
			require.Regexp(t, `needs [\d.]+ GB, and disk /dev/\w+ has [\d.]+ GB`, app.Error())
			require.Nil(t, r.op().Steps[1].Issued)
			require.Zero(t, sent, "nothing was written")
			require.Equal(t, fault.DiskTooSmall, r.op().Steps[1].Cause)
		})
	}
}

// An image of a partition has its boot loader in an EFI system partition.
func TestAServerThatBootsByBIOSGetsNoImageOfAPartition(t *testing.T) {
	t.Parallel()
	var r *rig
	api, calls := agentAPI(t, func() *book { return r.book })
	r = newRig(t, sim.Config{NoInspection: true, Firmware: sim.BIOS}, node.KindDeploy, node.Deploying, api,
		node.Step{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending},
		node.Step{Index: 1, Interface: "deploy", Step: "write_image", Source: node.SourceDriver, State: node.StepPending})
	r.change(func(n *node.Node) { n.BootMode = "bios" })
	r.steps.Image = func(context.Context, conductor.ImageRequest) (agent.ImageInfo, int64, error) {
		return agent.ImageInfo{ID: "root.img", URLs: []string{"http://127.0.0.1:1/root.img"}, HashAlgo: "sha256", HashValue: "00", ImageType: agent.PartitionImage}, 0, nil
	}
	res, err := r.run()
	require.NoError(t, err)
	if res.Next == conductor.NextAgent {
		<-calls
	}
	r.change(func(n *node.Node) { n.BootMode = "bios" })
	_, err = r.run()
	require.ErrorContains(t, err, "boots by UEFI only")
	require.Equal(t, fault.ImageInvalid, activities.CauseOf(err))
	require.Nil(t, r.op().Steps[1].Issued)
}
