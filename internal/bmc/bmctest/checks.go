package bmctest

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func checkInfo(t *testing.T, b *bench) {
	require.NoError(t, b.Driver.Validate(b.Target.Info))
	require.NotNil(t, b.Driver.Properties(), "a driver without properties says so with an empty map")
	for name, text := range b.Driver.Properties() {
		require.NotEmpty(t, text, "property %s is documented", name)
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
	b.seePower(t, s, bmc.PowerOff)
	for _, r := range []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn, bmc.RequestOn, bmc.RequestForceOff, bmc.RequestForceOff} {
		require.LessOrEqual(t, b.changes(t, func() error { return s.RequestPower(t.Context(), r) }), 1, "a wish is one request")
		want := bmc.PowerOff
		if r == bmc.RequestOn {
			want = bmc.PowerOn
		}
		b.seePower(t, b.again(t, s), want)
	}
}

func checkSoftOff(t *testing.T, b *bench) {
	s := b.open(t)
	b.request(t, s, bmc.RequestOn)
	if b.lacks(SoftOff) {
		requireRefused(t, s.RequestPower(t.Context(), bmc.RequestSoftOff))
		b.seePower(t, s, bmc.PowerOn)
		return
	}
	b.request(t, s, bmc.RequestSoftOff)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestSoftOff), "what is off already is no error")
}

func checkPulses(t *testing.T, b *bench) {
	s := b.open(t)
	b.request(t, s, bmc.RequestOn)
	for pulse, capability := range map[bmc.Pulse]Capability{bmc.PulseForceRestart: Restart, bmc.PulseNMI: NMI} {
		if b.lacks(capability) {
			requireRefused(t, s.Pulse(t.Context(), pulse))
			continue
		}
		require.Equal(t, 1, b.changes(t, func() error { return s.Pulse(t.Context(), pulse) }), "a pulse is one request")
		b.seePower(t, s, bmc.PowerOn)
	}
}

func checkBoot(t *testing.T, b *bench) {
	s := b.open(t)
	if b.lacks(SetBoot) {
		requireRefused(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))
		return
	}
	devices, err := s.BootDevices(t.Context())
	require.NoError(t, err)
	require.Contains(t, devices, bmc.DevicePXE)
	require.Contains(t, devices, bmc.DeviceDisk)

	for _, want := range []bmc.Boot{
		{Device: bmc.DevicePXE},
		{Device: bmc.DeviceDisk, Persistent: true},
		{Device: bmc.DevicePXE, Persistent: true},
		{Device: bmc.DeviceDisk},
		{Device: bmc.DeviceNone},
	} {
		want.Persistent = want.Persistent || want.Device != bmc.DeviceNone && b.lacks(BootOnce)
		require.Equal(t, 1, b.changes(t, func() error { return s.SetBoot(t.Context(), want) }))
		have, err := b.again(t, s).Boot(t.Context())
		require.NoError(t, err)
		want.Mode = have.Mode // a request that names no mode leaves it alone; checked below
		require.Equal(t, want, have)
	}
	checkBootMode(t, b, s)
}

func checkBootMode(t *testing.T, b *bench, s bmc.Session) {
	if b.lacks(BootMode) {
		return
	}
	for _, mode := range []bmc.Mode{bmc.ModeBIOS, bmc.ModeUEFI} {
		require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk, Mode: mode}))
		require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))
		have, err := b.again(t, s).Boot(t.Context())
		require.NoError(t, err)
		require.Equal(t, mode, have.Mode)
	}
}

func checkBootOnce(t *testing.T, b *bench) {
	if b.lacks(SetBoot) || b.lacks(BootOnce) {
		t.Skip("the machine has no override for once")
	}
	s := b.open(t)
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk}))
	b.request(t, s, bmc.RequestOn)
	require.Eventually(t, func() bool {
		have, err := s.Boot(t.Context())
		return err == nil && have.Device == bmc.DeviceNone
	}, b.Settle, pollPause, "the override was not used")

	b.request(t, s, bmc.RequestForceOff)
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}))
	b.request(t, s, bmc.RequestOn)
	have, err := s.Boot(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.DeviceDisk, have.Device, "a persistent override stays")
}

func checkNonsense(t *testing.T, b *bench) {
	s := b.open(t)
	before := b.guard.count()
	requireRefused(t, s.SetBoot(t.Context(), bmc.Boot{Device: "parallel port"}))
	requireRefused(t, s.RequestPower(t.Context(), "Explode"))
	requireRefused(t, s.Pulse(t.Context(), "Explode"))
	requireRefused(t, s.InsertMedia(t.Context(), ""))
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
			have, err := b.again(t, s).Media(t.Context())
			return err == nil && have == want
		}, b.Settle, pollPause, "never read %+v", want)
	}
	one, two := bmc.Media{Inserted: true, Image: b.Images[0]}, bmc.Media{Inserted: true, Image: b.Images[1]}

	see(bmc.Media{})
	require.Equal(t, 0, b.changes(t, eject), "an empty drive is not ejected")
	require.Equal(t, 1, b.changes(t, insert(one.Image)))
	see(one)
	require.Equal(t, 0, b.changes(t, insert(one.Image)), "what is in is not inserted again")
	see(one)
	require.Equal(t, 2, b.changes(t, insert(two.Image)), "another image is ejected first")
	see(two)
	require.Equal(t, 1, b.changes(t, eject))
	see(bmc.Media{})
	require.Equal(t, 0, b.changes(t, eject))
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
		require.Equal(t, hw.String(), n.MAC, "lower case, colons")
		require.False(t, seen[n.MAC], "%s is told twice", n.MAC)
		seen[n.MAC] = true
	}
	again, err := b.again(t, s).Inspect(t.Context())
	require.NoError(t, err)
	require.Equal(t, inv, again, "two looks at one machine agree")
}

func checkHealth(t *testing.T, b *bench) {
	h, err := b.open(t).Health(t.Context())
	require.NoError(t, err)
	require.Contains(t, []bmc.Health{"", "ok", "warning", "critical"}, h)
	require.Equal(t, strings.ToLower(string(h)), string(h))
}
