package redfish_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// probed asks the only server of a rack what it is.
func probed(t *testing.T, rack string) (*redfish.Driver, bmc.Target, *redfish.Probe) {
	d := newDriver(t, quick())
	target := bmc.Target{Node: nodeID, Info: listed(t, rack).info()}
	p, err := d.Probe(t.Context(), target)
	require.NoError(t, err)
	return d, target, p
}

func TestAProbeTellsWhatABMCIs(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"idrac10"}})
	_, _, p := probed(t, rack)
	require.Equal(t, "Dell", p.Vendor)
	require.Equal(t, "17G Monolithic", p.Manager)
	require.Equal(t, "session", p.Login)
	var names []string
	for _, q := range p.Quirks {
		names = append(names, q.Name)
	}
	require.Equal(t, []string{"idrac10-settings-boot", "idrac10-media-slot", "dell-serial", "dell-pxe-attributes", "dell-switch-connections"}, names)
	for _, o := range p.Findings {
		require.True(t, o.Works, "%s: %s", o.Operation, o.Words)
	}
	require.Len(t, p.Findings, 5)
}

func TestAProbeTellsWhatWillNotWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set("/redfish/v1/Managers/1", map[string]any{"Id": "1"})
	f.set("system:Actions", map[string]any{"#ComputerSystem.Reset": map[string]any{
		"target": sysPath + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": []string{"On", "ForceOff"},
	}})
	p, err := newDriver(t, quick()).Probe(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil)})
	require.NoError(t, err)
	works := map[string]string{}
	for _, o := range p.Findings {
		if !o.Works {
			works[o.Operation] = o.Words
		}
	}
	require.Len(t, works, 2)
	require.Contains(t, works["switch on and off"], "can't shut down or restart, only On, ForceOff")
	require.Contains(t, works["insert virtual media"], "no virtual CD")
	require.Empty(t, f.changed(), "a probe changes nothing")
}

func TestAProbeOfAWrongPasswordFails(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	info := listed(t, rack).info()
	info["redfish_password"] = "not-the-password"
	_, err := newDriver(t, quick()).Probe(t.Context(), bmc.Target{Node: nodeID, Info: info})
	require.Equal(t, fault.BMCWrongPassword, fault.CauseOf(err))
	require.NotContains(t, err.Error(), "not-the-password")
}

// A rack that answers from a recording of a persona is told apart from the persona by nothing that a probe
// reads, and passes the conformance suite.
func TestTheRackAnswersFromARecording(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"generic", "idrac9", "idrac10", "smc-x13", "xcc"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, target, real := probed(t, startRack(t, sim.Config{Personas: []string{name}}))
			r, err := d.Record(t.Context(), target, func(int, int) {})
			require.NoError(t, err)
			require.Zero(t, r.LeftOut)
			require.Empty(t, r.Refused, "every link of a persona leads to a resource")
			var text bytes.Buffer
			require.NoError(t, r.Write(&text))
			require.NotContains(t, text.String(), target.Info["redfish_password"])
			file := filepath.Join(t.TempDir(), "bmc.json")
			require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))

			_, _, again := probed(t, startRack(t, sim.Config{Personas: []string{file}}))
			require.Equal(t, real, again)
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
				rig := simRig(t, sim.Config{Personas: []string{file}})
				rig.Lacks = lacks(name)
				return rig
			})
		})
	}
}

// The board of the GPUs is a system of the same BMC, and not a server.
func TestAProbeOfAGPUBoardSaysThatItIsNoServer(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{Personas: []string{"dgx"}})
	info := listed(t, rack).info()
	d := newDriver(t, quick())
	require.NoError(t, talk(t, d, info).RequestPower(t.Context(), bmc.RequestOn))
	info["redfish_system_id"] = "/redfish/v1/Systems/HGX_Baseboard_0"
	require.Eventually(t, func() bool {
		p, err := d.Probe(t.Context(), bmc.Target{Node: nodeID, Info: info})
		if err != nil {
			return false // the board is off
		}
		last := p.Findings[len(p.Findings)-1]
		return !last.Works && strings.Contains(last.Words, "neither processors nor memory")
	}, 30*time.Second, 20*time.Millisecond)
}
