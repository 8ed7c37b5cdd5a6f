package bmctest

import (
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func checkInfo(t *testing.T, b *bench) {
	require.NoError(t, b.Driver.Validate(b.Target.Info))
	for _, p := range b.Type.Properties {
		require.NotEmpty(t, p.About, "%s has no description", p.Name)
		if !p.Required {
			continue
		}
		without := maps.Clone(b.Target.Info)
		delete(without, p.Name)
		err := b.Driver.Validate(without)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%s is required", p.Name)
		require.ErrorContains(t, err, p.Name)
	}
	if b.BadInfo == nil {
		return
	}
	require.Equal(t, fault.Invalid, fault.KindOf(b.Driver.Validate(b.BadInfo)))
	_, err := b.Driver.Open(t.Context(), bmc.Target{Node: b.Target.Node, Info: b.BadInfo})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

func checkPower(t *testing.T, b *bench) {
	s := b.open(t)
	b.awaitPower(t, s, bmc.PowerOff)
	for _, r := range []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn, bmc.RequestOn, bmc.RequestForceOff, bmc.RequestForceOff} {
		n, calls := b.count(t, func() error { return s.RequestPower(t.Context(), r) })
		require.LessOrEqual(t, n, calls, "a power request is one HTTP request")
		want := bmc.PowerOff
		if r == bmc.RequestOn {
			want = bmc.PowerOn
		}
		b.awaitPower(t, b.reopen(t, s), want)
	}
}

func checkSoftOff(t *testing.T, b *bench) {
	s := b.open(t)
	b.requestPower(t, s, bmc.RequestOn)
	if b.lacks(SoftOff) {
		requireRefused(t, s.RequestPower(t.Context(), bmc.RequestSoftOff))
		b.awaitPower(t, s, bmc.PowerOn)
		return
	}
	b.requestPower(t, s, bmc.RequestSoftOff)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestSoftOff), "a server that is already off is no error")
}

func checkRestart(t *testing.T, b *bench) {
	s := b.open(t)
	b.requestPower(t, s, bmc.RequestOn)
	if b.lacks(Restart) {
		requireRefused(t, s.Restart(t.Context()))
		return
	}
	require.Equal(t, 1, b.changes(t, func() error { return s.Restart(t.Context()) }), "a restart is one request")
	b.awaitPower(t, s, bmc.PowerOn)
}

// checkPromises checks that the driver has the capabilities that the implementations of
// its hardware type need.
func checkPromises(t *testing.T, b *bench) {
	promised := func(iface string, why func(node.Implementation) bool) bool {
		return slices.ContainsFunc(b.Type.Implementations[iface], why)
	}
	outOfBand := func(i node.Implementation) bool { return i.Means == node.MeansBMC }
	media := promised("boot", func(i node.Implementation) bool { return i.Boot == node.BootVirtualMedia })
	if promised("power", outOfBand) {
		require.True(t, b.has(Power), "power")
	}
	if promised("management", outOfBand) || media {
		require.True(t, b.has(SetBoot), "the boot device")
	}
	if promised("management", func(i node.Implementation) bool { return i.NMI }) {
		require.True(t, b.has(NMI), "NMIs")
	}
	if promised("inspect", outOfBand) {
		require.True(t, b.has(Inspection), "inspection")
	}
	if media {
		require.True(t, b.has(Media), "virtual media")
	}
}

func checkBoot(t *testing.T, b *bench) {
	s := b.open(t)
	if b.lacks(SetBoot) {
		requireRefused(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))
		return
	}
	offered, err := s.BootDevices(t.Context())
	require.NoError(t, err)
	require.Contains(t, offered, bmc.DevicePXE)
	require.NotContains(t, offered, bmc.DeviceNone)
	for _, want := range []bmc.Boot{
		{Device: bmc.DevicePXE},
		{Device: bmc.DeviceDisk, Persistent: true},
		{Device: bmc.DevicePXE, Persistent: true},
		{Device: bmc.DeviceDisk},
		{Device: bmc.DeviceNone},
	} {
		requests := 1
		if want.Device == bmc.DeviceNone && b.lacks(BootClear) {
			requests = 2 // the first is refused
		}
		if want.Persistent && b.lacks(BootForever) {
			requireRefused(t, s.SetBoot(t.Context(), want))
			continue
		}
		b.requireChanges(t, requests, func() error { return s.SetBoot(t.Context(), want) })
		have, err := b.reopen(t, s).Boot(t.Context())
		require.NoError(t, err)
		if b.lacks(BootReadBack) {
			require.Equal(t, bmc.DeviceNone, have.Device)
			continue
		}
		require.True(t, have.Fulfils(want), "%s is not %s", have, want)
		if requests == 2 {
			want = bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}
		}
		want.Persistent = want.Persistent || want.Device != bmc.DeviceNone && b.lacks(BootOnce)
		want.Mode = have.Mode // a request that names no mode leaves it alone; checked below
		require.Equal(t, want, have)
	}
	checkBootMode(t, b, s)
}

func checkBootMode(t *testing.T, b *bench, s bmc.Session) {
	if b.lacks(BootMode) || b.lacks(BootReadBack) {
		return
	}
	for _, mode := range []bmc.Mode{bmc.ModeBIOS, bmc.ModeUEFI} {
		b.do(t, func() error { return s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk, Mode: mode}) })
		b.do(t, func() error { return s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}) })
		have, err := b.reopen(t, s).Boot(t.Context())
		require.NoError(t, err)
		require.Equal(t, mode, have.Mode)
	}
}

func checkBootOnce(t *testing.T, b *bench) {
	if b.lacks(SetBoot) || b.lacks(BootOnce) || b.lacks(BootReadBack) || !b.has(Power) {
		t.Skip("the machine has no override for once")
	}
	s := b.open(t)
	b.do(t, func() error { return s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk}) })
	b.requestPower(t, s, bmc.RequestOn)
	require.Eventually(t, func() bool {
		have, err := s.Boot(t.Context())
		return err == nil && have.Device == bmc.DeviceNone
	}, b.Settle, pollPause, "the override was not used")

	if b.lacks(BootForever) {
		return
	}
	b.requestPower(t, s, bmc.RequestForceOff)
	b.do(t, func() error { return s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}) })
	b.requestPower(t, s, bmc.RequestOn)
	have, err := s.Boot(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.DeviceDisk, have.Device, "a persistent override stays")
}

// checkBootWhileStarting checks that a BMC which refuses the override during the server's
// self-test is asked again later.
func checkBootWhileStarting(t *testing.T, b *bench) {
	if b.lacks(SetBoot) || !b.has(Power) || b.BootedFromCD == nil {
		t.Skip("nobody can tell when the machine starts")
	}
	s := b.open(t)
	b.requestPower(t, s, bmc.RequestOn)
	want := bmc.Boot{Device: bmc.DevicePXE, Persistent: !b.lacks(BootForever)} // a start does not use up a persistent one
	b.do(t, func() error { return s.SetBoot(t.Context(), want) })
	have, err := s.Boot(t.Context())
	require.NoError(t, err)
	require.True(t, have.Fulfils(want), "%s is not %s", have, want)
}

func checkBootFromCD(t *testing.T, b *bench) {
	if b.BootedFromCD == nil || b.lacks(Media) || b.lacks(SetBoot) {
		t.Skip("nobody can tell what the machine booted from")
	}
	s := b.open(t)
	b.do(t, func() error { return s.InsertMedia(t.Context(), b.Images[0]) })
	require.Eventually(t, func() bool {
		m, err := s.Media(t.Context())
		return err == nil && m.Inserted
	}, b.Settle, pollPause)
	b.do(t, func() error { return s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceCDROM}) })
	have, err := b.reopen(t, s).Boot(t.Context())
	require.NoError(t, err)
	require.True(t, have.Fulfils(bmc.Boot{Device: bmc.DeviceCDROM}), "%s", have)
	b.requestPower(t, s, bmc.RequestOn)
	require.Eventually(t, b.BootedFromCD, b.Settle, pollPause, "the server did not boot from the virtual CD")

	b.requestPower(t, s, bmc.RequestForceOff)
	b.do(t, func() error { return s.EjectMedia(t.Context()) })
	b.do(t, func() error { return s.SetBoot(t.Context(), bmc.Boot{}) })
	require.Eventually(t, func() bool {
		m, err := s.Media(t.Context())
		have, berr := s.Boot(t.Context())
		return err == nil && berr == nil && !m.Inserted && have.Cleared()
	}, b.Settle, pollPause, "the boot from the virtual CD is undone")
}

func checkNonsense(t *testing.T, b *bench) {
	s := b.open(t)
	before := b.guard.count()
	if b.has(SetBoot) {
		requireRefused(t, s.SetBoot(t.Context(), bmc.Boot{Device: "parallel port"}))
	}
	if b.has(Power) {
		requireRefused(t, s.RequestPower(t.Context(), "Explode"))
	}
	if b.has(Media) {
		requireRefused(t, s.InsertMedia(t.Context(), ""))
	}
	require.Equal(t, before, b.guard.count(), "nothing is sent")
}

func checkMedia(t *testing.T, b *bench) {
	s := b.open(t)
	if b.lacks(Media) {
		requireRefused(t, s.InsertMedia(t.Context(), b.Images[0]))
		return
	}
	insert := func(url string) func() error { return func() error { return s.InsertMedia(t.Context(), url) } }
	eject := func() error { return s.EjectMedia(t.Context()) }
	see := func(want bmc.Media) {
		t.Helper()
		require.Eventually(t, func() bool {
			have, err := b.reopen(t, s).Media(t.Context())
			return err == nil && have == want
		}, b.Settle, pollPause, "never read %+v", want)
	}
	one, two := bmc.Media{Inserted: true, Image: b.Images[0]}, bmc.Media{Inserted: true, Image: b.Images[1]}

	see(bmc.Media{})
	require.Equal(t, 0, b.changes(t, eject), "an empty drive is not ejected")
	b.requireChanges(t, 1, insert(one.Image))
	see(one)
	require.Equal(t, 0, b.changes(t, insert(one.Image)), "what is in is not inserted again")
	see(one)
	b.requireChanges(t, 2, insert(two.Image), "another image is ejected first")
	see(two)
	require.Equal(t, 1, b.changes(t, eject))
	see(bmc.Media{})
	require.Equal(t, 0, b.changes(t, eject))

	b.do(t, insert(one.Image))
	see(one)
	b.do(t, eject)
	sent, _ := b.count(t, insert(one.Image))
	require.NotZero(t, sent, "what was ejected is inserted, also while the drive still shows it")
	see(one)
	b.do(t, eject)
}

func checkHealth(t *testing.T, b *bench) {
	s := b.open(t)
	var h bmc.Health
	b.requireChanges(t, 0, func() (err error) { h, err = s.Health(t.Context()); return err })
	require.Contains(t, node.HealthStatuses, h.Status)
	for kind, status := range h.Parts {
		require.Contains(t, node.ComponentKinds, kind)
		require.False(t, status.WorseThan(h.Status), "%s is worse than the whole", kind)
	}
	for _, r := range h.Reasons {
		require.True(t, r.Severity.Troubled())
		require.NotEmpty(t, r.Message)
	}
	require.Equal(t, h.Status.Troubled(), len(h.Reasons) > 0, "what is wrong is told")
}

func checkInspection(t *testing.T, b *bench) {
	s := b.open(t)
	inv, err := s.Inspect(t.Context())
	if b.lacks(Inspection) {
		requireRefused(t, err)
		return
	}
	require.NoError(t, err)
	require.Positive(t, inv.CPUs)
	require.Positive(t, inv.MemoryMiB)
	require.NotEmpty(t, inv.Architecture)
	if b.Serial != "" {
		require.Equal(t, b.Serial, inv.Serial)
	}
	if b.Inventory != nil {
		b.Inventory(t, inv)
	}
	require.NotEmpty(t, inv.Disks)
	for _, d := range inv.Disks {
		require.Positive(t, d.SizeBytes)
		require.Contains(t, []string{"", "ssd", "hdd", "nvme"}, d.Media)
	}
	require.NotEmpty(t, inv.NICs)
	seen := map[string]bool{}
	for _, n := range inv.NICs {
		hw, err := net.ParseMAC(n.MAC)
		require.NoError(t, err)
		require.Len(t, hw, 6, "an Ethernet address")
		require.Equal(t, hw.String(), n.MAC, "lower case, colons")
		require.False(t, seen[n.MAC], "%s is told twice", n.MAC)
		seen[n.MAC] = true
	}
	again, err := b.reopen(t, s).Inspect(t.Context())
	require.NoError(t, err)
	require.Equal(t, inv, again, "two inspections of one server agree")
}
