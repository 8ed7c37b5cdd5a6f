package redfish_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/sim"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

// personas say what the suite has to know of the personas of the simulated rack that lack
// something, or that refuse the first forms of a request.
var personas = map[string]struct {
	tries int
	lacks []bmctest.Capability
}{
	"asrock":      {tries: 2}, // PATCH refuses the ETag
	"ami":         {tries: 2}, // the settings resource is learned by a refusal; InsertMedia wants the protocol
	"dgx":         {tries: 2}, // InsertMedia wants an account
	"ilo5":        {lacks: []bmctest.Capability{bmctest.BootMode}},
	"ilo6":        {lacks: []bmctest.Capability{bmctest.BootMode}},
	"openbmc":     {tries: 2}, // a slot refuses InsertMedia
	"sushy-tools": {lacks: []bmctest.Capability{bmctest.BootOnce, bmctest.BootClear}},
	"xcc":         {lacks: []bmctest.Capability{bmctest.BootForever}},
}

// withEvents are the personas that have subscriptions to their events.
var withEvents = []string{"idrac9", "idrac10", "ilo5", "ilo6", "openbmc", "smc-x13", "xcc"}

// withLogs are the personas that have event logs, with the logs that can be cleared.
var withLogs = map[string][]string{
	"generic": {"Log"}, "idrac9": {"Sel"}, "idrac9-5": {"Sel"}, "idrac10": {"Sel"}, "ilo5": {"IML", "IEL"}, "ilo6": {"IML", "IEL"},
	"openbmc": {"EventLog"}, "ami": {"SEL"},
}

// lacks returns what the persona lacks.
func lacks(name string) []bmctest.Capability {
	out := slices.Clone(personas[name].lacks)
	if !slices.Contains(withEvents, name) {
		out = append(out, bmctest.Subscription)
	}
	if withLogs[name] == nil {
		out = append(out, bmctest.EventLog)
	}
	return out
}

// personaRig is a rig with a server of the simulated rack that is of that persona, and a
// driver without the row of the table of quirks that is named, "" for none.
func personaRig(t *testing.T, name, withoutQuirk string) bmctest.Rig {
	c := sim.Config{Personas: []string{name}}
	switch name { // what they refuse for a while has to last longer than a busy machine needs to ask
	case "ilo6":
		c.BootDelay = 500 * time.Millisecond // it refuses a boot override during the self-test
	case "idrac10":
		c.PowerDelay = 200 * time.Millisecond // it refuses On right after Off
	}
	r := simRig(t, c)
	r.Driver = redfish.New(redfish.WithoutQuirk(quick(), withoutQuirk))
	r.Tries, r.Lacks = personas[name].tries, lacks(name)
	r.Inventory = func(t *testing.T, inv bmc.Inventory) { checkInventory(t, name, inv) }
	return r
}

// told says what the BMCs of these personas do not tell as the others do.
var told = map[string]struct {
	boot       [2]bmc.NetworkBoot // of both NICs
	noLLDP     bool
	noMemory   bool
	noFirmware bool
	noPCI      bool
}{
	"idrac9":      {boot: firstNIC},
	"idrac9-5":    {boot: firstNIC},
	"idrac10":     {boot: firstNIC},
	"openbmc":     {boot: bothNICs, noLLDP: true},
	"smc-x11":     {boot: unknownNICs, noLLDP: true},
	"smc-x13":     {boot: unknownNICs, noLLDP: true},
	"sushy-tools": {boot: unknownNICs, noLLDP: true, noMemory: true, noFirmware: true, noPCI: true},
}

var (
	bothNICs    = [2]bmc.NetworkBoot{bmc.NetworkBootYes, bmc.NetworkBootYes}
	firstNIC    = [2]bmc.NetworkBoot{bmc.NetworkBootYes, bmc.NetworkBootNo}
	unknownNICs = [2]bmc.NetworkBoot{bmc.NetworkBootUnknown, bmc.NetworkBootUnknown}
)

// checkInventory checks the inventory of a server of the rack, which is off.
func checkInventory(t *testing.T, persona string, inv bmc.Inventory) {
	about, known := told[persona]
	if !known {
		about.boot = bothNICs
	}
	boot := [2]bmc.NetworkBoot{inv.NICs[0].NetworkBoot, inv.NICs[1].NetworkBoot}
	require.Equal(t, about.boot, boot)
	for _, n := range inv.NICs {
		require.True(t, n.Enabled && n.LinkUp, n.Name)
		require.Positive(t, n.Mbps)
		require.Equal(t, about.noLLDP, n.LLDP == nil, n.Name)
		if n.LLDP != nil {
			require.Regexp(t, `^02:`, n.LLDP.ChassisID)
			require.Regexp(t, `^Ethernet1/`, n.LLDP.PortID)
			require.Zero(t, n.LLDP.VLAN, "4095 is no VLAN")
		}
	}
	require.NotEmpty(t, inv.Processors)
	require.NotEmpty(t, inv.BIOSVersion)
	require.Equal(t, bmc.ModeUEFI, inv.BootMode)
	require.NotNil(t, inv.SecureBoot)
	require.False(t, *inv.SecureBoot)
	for _, d := range inv.Disks {
		require.Regexp(t, "^0x5", d.WWN)
		require.NotEmpty(t, d.Firmware)
	}
	require.Equal(t, about.noMemory, len(inv.DIMMs) == 0)
	if !about.noMemory {
		var sum int64
		for _, d := range inv.DIMMs {
			sum += d.MiB
			require.NotEmpty(t, d.Serial)
			require.NotEmpty(t, d.Slot)
		}
		require.Equal(t, inv.MemoryMiB, sum)
		require.Equal(t, &bmc.TPM{Version: "TPM2_0", Firmware: "7.2.3.1", Enabled: true}, inv.TPM)

	}
	require.Equal(t, about.noFirmware, len(inv.Firmware) == 0)
	if !about.noFirmware {
		require.Contains(t, inv.Firmware, bmc.Firmware{Name: "BIOS", Version: inv.BIOSVersion})
		require.NotContains(t, inv.Firmware, bmc.Firmware{Name: "BIOS", Version: "1.0.0"}, "it was installed before")
	}
	require.Equal(t, about.noPCI, len(inv.PCIDevices) == 0)
	if !about.noPCI {
		d := inv.PCIDevices[0]
		require.Equal(t, "8086 1592 020000 02", d.VendorID+" "+d.DeviceID+" "+d.Class+" "+d.Revision)
	}
	switch persona {
	case "generic":
		require.Regexp(t, "^ASSET-", inv.AssetTag)
		require.Regexp(t, "^PN-", inv.PartNumber)
		require.Empty(t, inv.Incomplete)
	case "dgx":
		require.Equal(t, []bmc.Part{bmc.PartGPUs}, inv.Incomplete, "the board of the GPUs is off, too")
		require.Empty(t, inv.GPUs)
	default:
		require.Empty(t, inv.Incomplete)
	}
}

func TestTheGPUsOfABoardBelongToItsSystem(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"dgx"}})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Eventually(t, func() bool {
		p, err := s.Power(t.Context())
		return err == nil && p == bmc.PowerOn
	}, 30*time.Second, 10*time.Millisecond)
	inv, err := s.Inspect(t.Context())
	require.NoError(t, err)
	require.Empty(t, inv.Incomplete)
	require.Len(t, inv.GPUs, 4)
	require.Equal(t, bmc.GPU{
		Name: "GPU_SXM_1", Model: "SIM-GPU-80", Manufacturer: "NVIDIA", Serial: inv.GPUs[0].Serial, Firmware: "96.00.74", MemoryMiB: 80 << 10,
	}, inv.GPUs[0])
}

func TestConformanceWithEveryPersona(t *testing.T) {
	t.Parallel()
	for name := range personas {
		_, err := simredfish.FindPersonas([]string{name})
		require.NoError(t, err)
	}
	for _, p := range simredfish.Personas() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig { return personaRig(t, p.Name, "") })
		})
	}
}

// A persona's system needs no name if it is the only one.
func TestTheSystemOfAPersonaIsFound(t *testing.T) {
	t.Parallel()
	for _, p := range simredfish.Personas() {
		if p.Name == "dgx" {
			continue // it has two
		}
		rack := startRack(t, sim.Config{Personas: []string{p.Name}})
		info := listed(t, rack).info()
		delete(info, "redfish_system_id")
		power, err := talk(t, newDriver(t, quick()), info).Power(t.Context())
		require.NoError(t, err, p.Name)
		require.Equal(t, bmc.PowerOff, power, p.Name)
	}
}
