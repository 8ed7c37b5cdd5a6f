package activities_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// fromOurCD is a deploy to a server that boots from a CD that Temper makes.
func fromOurCD(t *testing.T) *bench {
	b := newBenchOf(t, &node.Node{UUID: uuid, ProvisionState: node.Deploying, Interfaces: direct, DriverInfo: map[string]any{"redfish_address": "http://bmc"}},
		nil, node.KindDeploy, bmc.PowerOff, plan.Options{})
	b.steps.Settings.BootTimeout = time.Hour
	b.steps.Settings.Boot.Default = node.BootSite{MediaURL: "http://10.0.0.5:6385"}
	return b
}

// boots runs the step until it waits for the agent, and returns the wait.
func (b *bench) boots() *node.Wait {
	b.Helper()
	r, err := b.run()
	require.NoError(b, err)
	require.Equal(b, conductor.NextAgent, r.Next)
	return b.op().StepWait
}

// later lets time pass for the wait of the step: so much since it began.
func (b *bench) later(d time.Duration) {
	b.Helper()
	b.changeOp(func(o *node.Operation) {
		at := o.StepWait.LookAt.Add(-d)
		o.StepWait.Since, o.StepWait.LookAt = o.StepWait.Since.Add(-d), &at
	})
}

// reads lets the BMC read the CD that is in its drive.
func (b *bench) reads(bytes int64) {
	b.Helper()
	images := b.machine.images
	require.NotEmpty(b, images)
	url := images[len(images)-1]
	key := url[len("http://10.0.0.5:6385"+medium.PathPrefix):][:26]
	require.True(b, medium.IsKey(key), url)
	require.NoError(b, b.book.MediumRead(b.Context(), medium.Hash(key), bytes))
}

func TestAServerWhoseCDNothingReadsIsSwitchedOffAndOnAgainOnce(t *testing.T) {
	t.Parallel()
	b := fromOurCD(t)
	w := b.boots()
	require.Equal(t, w.Since.Add(time.Hour), *w.LookAt)
	require.False(t, b.op().LookDue(time.Now()))

	again := b.boots()
	require.Equal(t, w.LookAt.UTC(), again.LookAt.UTC(), "it is not time yet")
	require.Len(t, b.machine.asked, 1)

	b.later(2 * time.Hour)
	require.True(t, b.op().LookDue(time.Now()))
	again = b.boots()
	require.True(t, again.LookAt.After(*w.LookAt), "of the second boot")
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn, bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.Contains(t, b.op().CurrentStep().Note, "nothing has read the CD at http://10.0.0.5:6385 within 1h of switching the server on")

	b.later(2 * time.Hour)
	_, err := b.run()
	require.True(t, final(err))
	require.ErrorContains(t, err, "nothing has read the CD")
	require.ErrorContains(t, err, "it was switched on 2 times")
	require.Equal(t, fault.MediumNotRead, b.op().CurrentStep().Cause)
}

func TestAServerThatReadsItsCDHasTimeFromTheLastSign(t *testing.T) {
	t.Parallel()
	b := fromOurCD(t)
	w := b.boots()
	b.later(2 * time.Hour)
	b.reads(27_800_000)
	again := b.boots()
	require.Len(t, b.machine.asked, 1)
	require.True(t, again.LookAt.After(*w.LookAt), "an hour after it was read")

	b.change(func(n *node.Node) { n.Agent = &node.Agent{URL: "http://192.0.2.50:9999"} })
	_, err := b.run()
	require.Error(t, err, "there is no agent")
	told, err := b.book.Timeline(t.Context(), b.book.op)
	require.NoError(t, err)
	require.Contains(t, whats(told), node.TimelineMedium)
}

// whats returns what entries are about.
func whats(entries []node.TimelineEntry) (out []node.TimelineWhat) {
	for _, e := range entries {
		out = append(out, e.What)
	}
	return out
}

func TestAServerThatReadsItsCDAndStopsFailsWithWhatWasSeen(t *testing.T) {
	t.Parallel()
	b := fromOurCD(t)
	b.steps.Settings.BootTries = 1
	b.boots()
	b.reads(5_000_000)
	b.steps.Settings.BootTimeout = time.Nanosecond
	b.later(2 * time.Hour)
	_, err := b.run()
	require.True(t, final(err))
	require.ErrorContains(t, err, "the server had read 5 MB of its CD, and has given no other sign")
	require.Equal(t, fault.AgentNeverCalled, b.op().CurrentStep().Cause)
}

func TestAServerThatTestsItsMemoryIsNotDisturbed(t *testing.T) {
	t.Parallel()
	b := fromOurCD(t)
	b.machine.progress = func() string { return "MemoryInitializationStarted" }
	b.boots()
	b.later(2 * time.Hour)
	b.boots()
	require.Len(t, b.machine.asked, 1)
}

// A server boots by network because of its boot device. If it asks for none of its files, that is the cause.
func TestAServerThatAsksForNothingByNetworkSaysSo(t *testing.T) {
	t.Parallel()
	interfaces := maps.Clone(direct)
	interfaces["boot"] = "ipxe"
	b := newBenchOf(t, &node.Node{UUID: uuid, ProvisionState: node.Deploying, Interfaces: interfaces, DriverInfo: map[string]any{"redfish_address": "http://bmc"}},
		nil, node.KindDeploy, bmc.PowerOff, plan.Options{})
	b.steps.Settings.BootTimeout = time.Hour
	b.steps.Settings.Boot.Default = node.BootSite{AgentURL: "http://10.0.0.5:6386"}
	var set []bmc.Device
	b.machine.boots = func(boot bmc.Boot) bmc.Boot { set = append(set, boot.Device); return boot }
	b.boots()
	require.Empty(t, b.machine.images, "no CD")
	require.Equal(t, []bmc.Device{bmc.DevicePXE}, set)
	b.later(2 * time.Hour)
	b.boots()
	require.Contains(t, b.op().CurrentStep().Note, "the server has asked for no file of its boot by network within 1h")
	b.later(2 * time.Hour)
	_, err := b.run()
	require.True(t, final(err))
	require.Equal(t, fault.NetworkNotAsked, b.op().CurrentStep().Cause)
}
