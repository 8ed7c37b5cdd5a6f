package redfish_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

func TestTheBootModeIsWrittenAndTheOverrideStays(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))
	have, modes, err := s.BootMode(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.ModeUEFI, have)
	require.Equal(t, []bmc.Mode{bmc.ModeUEFI, bmc.ModeBIOS}, modes)
	require.NoError(t, s.SetBootMode(t.Context(), bmc.ModeBIOS))
	have, _, err = s.BootMode(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.ModeBIOS, have)
	b, err := s.Boot(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.Boot{Device: bmc.DevicePXE, Mode: bmc.ModeBIOS}, b)
	requireFault(t, s.SetBootMode(t.Context(), "floppy"), fault.Invalid, `no boot mode "floppy"`)
}

func TestSecureBootIsSwitchedForTheNextBoot(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	for _, on := range []bool{true, false} {
		require.NoError(t, s.SetSecureBoot(t.Context(), on))
		have, err := s.SecureBoot(t.Context())
		require.NoError(t, err)
		require.Equal(t, &on, have)
	}
}

func TestLightsAreSwitched(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	find := func(component, name string) (found node.Indicator) {
		all, err := s.ReadIndicators(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 4)
		for _, l := range all {
			if l.Component == component && l.Name == name {
				found = l
			}
		}
		return found
	}
	require.Equal(t, node.Indicator{Component: "chassis", Name: "1", State: "OFF", States: []string{"BLINKING", "OFF", "ON"}}, find("chassis", "1"))
	require.NoError(t, s.SetIndicator(t.Context(), "chassis", "1", "BLINKING"))
	require.Equal(t, "BLINKING", find("system", "1").State, "the chassis and the system share a light")
	require.Equal(t, node.Indicator{Component: "disk", Name: "2", State: "OFF", States: []string{"OFF", "ON"}}, find("disk", "2"))
	require.NoError(t, s.SetIndicator(t.Context(), "disk", "2", "ON"))
	require.Equal(t, "ON", find("disk", "2").State)
	require.Equal(t, "OFF", find("disk", "1").State)
	requireFault(t, s.SetIndicator(t.Context(), "disk", "3", "ON"), fault.NotFound)
}

func TestAMediumOfSomebodyElseStaysInItsDrive(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	iso := rack + "/images/deploy.iso"
	shows := func() bool {
		media, shown, err := s.ReadDrives(t.Context(), "cd")
		require.NoError(t, err)
		require.Equal(t, []string{"CD", "DVD"}, shown[0].Types)
		return media[0].Holds(iso)
	}
	require.False(t, shows())
	require.NoError(t, s.AttachMedia(t.Context(), "cd", iso))
	require.Eventually(t, shows, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, s.AttachMedia(t.Context(), "cd", iso), "it is there")
	requireFault(t, s.AttachMedia(t.Context(), "cd", rack+"/images/disk.raw"), fault.Refused, "no virtual drive of the kind \"cd\" is empty")
	require.True(t, shows())
	requireFault(t, s.AttachMedia(t.Context(), "floppy", iso), fault.Refused, "no virtual drive of the kind \"floppy\"")
	requireFault(t, s.AttachMedia(t.Context(), "tape", iso), fault.Invalid)
}

// Makes differ in how they want these requests.
func TestEachMakeTakesModesAndMedia(t *testing.T) {
	t.Parallel()
	for _, make := range []string{"generic", "smc-x11", "smc-x13", "openbmc", "asrock", "ami", "idrac9", "idrac10", "xcc", "sushy-tools", "dgx", "ilo5", "ilo6"} {
		t.Run(make, func(t *testing.T) {
			t.Parallel()
			rack := startRack(t, sim.Config{Personas: []string{make}})
			s := talk(t, newDriver(t, quick()), listed(t, rack).info())
			if err := s.SetBootMode(t.Context(), bmc.ModeBIOS); strings.HasPrefix(make, "ilo") {
				requireFault(t, err, fault.Refused, "PropertyNotWritable") // it has the BIOS setting BootMode for that
			} else {
				require.NoError(t, err)
				have, _, err := s.BootMode(t.Context())
				require.NoError(t, err)
				require.Equal(t, bmc.ModeBIOS, have)
			}
			require.NoError(t, s.SetSecureBoot(t.Context(), true))
			lights, err := s.ReadIndicators(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, lights)
			controller := onlyController(t, s)
			_, err = s.CreateVolume(t.Context(), mirror(controller))
			require.NoError(t, err)
			v := onlyController(t, s).Volumes
			require.Len(t, v, 1)
			require.Equal(t, []string{controller.Drives[0].Path, controller.Drives[1].Path}, v[0].Drives)

			iso := rack + "/images/deploy.iso"
			require.NoError(t, s.AttachMedia(t.Context(), "cd", iso))
			require.Eventually(t, func() bool {
				all, _, err := s.ReadDrives(t.Context(), "cd")
				return err == nil && slices.ContainsFunc(all, func(m bmc.Media) bool { return m.MayHold(iso) && m.Image != "" })
			}, 10*time.Second, 5*time.Millisecond)
		})
	}
}
