package sim_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

// transitions returns the power actions without their times.
func transitions(s sim.Server) (out []machine.PowerAction) {
	for _, p := range s.PowerActions {
		p.At = time.Time{}
		out = append(out, p)
	}
	return out
}

func TestPowerTakesItsTimeAndEveryRequestIsRecorded(t *testing.T) {
	t.Parallel()
	cfg := quick(sim.Config{Servers: 2})
	cfg.PowerDelay = 150 * time.Millisecond
	s := start(t, cfg)
	b := s.bmc("sim-0001")
	require.Equal(t, "Off", b.power())
	require.Equal(t, http.StatusNoContent, b.reset("On").status)
	require.Equal(t, "PoweringOn", b.power())
	b.become("On")
	require.Equal(t, http.StatusNoContent, b.reset("On").status, "what is so is no error")
	require.Equal(t, http.StatusNoContent, b.reset("Nmi").status)
	require.Equal(t, http.StatusNoContent, b.reset("ForceOff").status)
	require.Equal(t, "PoweringOff", b.power())
	busy := b.reset("On")
	require.Equal(t, http.StatusServiceUnavailable, busy.status)
	require.NotEmpty(t, busy.header.Get("Retry-After"))
	b.become("Off")
	b.reset("ForceOff")
	b.reset("On")
	b.become("On")
	b.reset("ForceRestart")
	require.Equal(t, "On", b.power(), "a restart does not pass through Off")
	b.reset("GracefulShutdown")
	b.become("Off")

	require.Equal(t, []machine.PowerAction{
		{ResetType: "On", From: "Off", To: "On", Effect: true},
		{ResetType: "On", From: "On", To: "On"},
		{ResetType: "Nmi", From: "On", To: "On", Effect: true},
		{ResetType: "ForceOff", From: "On", To: "Off", Effect: true},
		{ResetType: "On", From: "PoweringOff", To: "PoweringOff"},
		{ResetType: "ForceOff", From: "Off", To: "Off"},
		{ResetType: "On", From: "Off", To: "On", Effect: true},
		{ResetType: "ForceRestart", From: "On", To: "On", Effect: true},
		{ResetType: "GracefulShutdown", From: "On", To: "Off", Effect: true},
	}, transitions(s.server("sim-0001")))
	require.Empty(t, s.server("sim-0002").PowerActions)
}

func TestALaterPowerRequestWinsOverAnEarlierOne(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1}))
	b := s.bmc("sim-0001")
	s.faults("sim-0001", `{"kind":"slow_power","delay":"200ms","count":1}`)
	begun := time.Now()
	b.reset("On")
	b.reset("ForceOff")
	b.become("Off")
	for time.Since(begun) < 300*time.Millisecond {
		require.Equal(t, "Off", b.power(), "the first request's timer must do nothing")
	}
}

func TestAnOverrideForOnceIsUsedByTheNextBoot(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 1, PXE: true}))
	b := s.bmc("sim-0001")
	boot := func() (any, any) {
		a := b.do(http.MethodGet, system, nil)
		return a.at("Boot", "BootSourceOverrideTarget"), a.at("Boot", "BootSourceOverrideEnabled")
	}
	b.setBoot("Pxe", "Once")
	target, enabled := boot()
	require.Equal(t, []any{"Pxe", "Once"}, []any{target, enabled})
	require.Equal(t, "Pxe", *s.server("sim-0001").BootOverride)
	b.reset("On")
	b.become("On")
	target, enabled = boot()
	require.Equal(t, []any{"None", "Disabled"}, []any{target, enabled}, "used, not lost")
	require.Nil(t, s.server("sim-0001").BootOverride)
	s.eventually("sim-0001", "booted", func(v sim.Server) bool { return v.BootedFrom != nil && *v.BootedFrom == machine.Network })

	b.setBoot("Pxe", "Continuous")
	b.reset("ForceRestart")
	target, enabled = boot()
	require.Equal(t, []any{"Pxe", "Continuous"}, []any{target, enabled})
}

func TestWhatBootsFollowsTheOverrideAndWhatIsThere(t *testing.T) {
	t.Parallel()
	iso := "/images/deploy.iso"
	for name, c := range map[string]struct {
		target string
		insert bool
		pxe    bool
		want   machine.Source
	}{
		"a CD that is in":                       {target: "Cd", insert: true, want: machine.CD},
		"a CD that is not, and an empty disk":   {target: "Cd", want: machine.None},
		"the network where there is one":        {target: "Pxe", pxe: true, want: machine.Network},
		"the network where there is none":       {target: "Pxe", want: machine.None},
		"a CD that nobody asked for":            {target: "None", insert: true, want: machine.None},
		"the firmware's menu is no boot at all": {target: "BiosSetup", insert: true, want: machine.None},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, quick(sim.Config{Servers: 1, PXE: c.pxe}))
			b := s.bmc("sim-0001")
			if c.insert {
				require.Equal(t, http.StatusNoContent, b.insert(s.rack.URL()+iso).status)
			}
			b.setBoot(c.target, "Once")
			b.reset("On")
			b.become("On")
			if c.want == machine.None {
				row := s.server("sim-0001")
				require.Nil(t, row.BootedFrom)
				require.Nil(t, row.BootingFrom, "the firmware looked and found nothing")
				return
			}
			row := s.eventually("sim-0001", "booted", func(v sim.Server) bool { return v.BootedFrom != nil })
			require.Equal(t, c.want, *row.BootedFrom)
			require.EqualValues(t, 1, row.AgentBoots)
			b.reset("ForceOff")
			require.Nil(t, s.server("sim-0001").BootedFrom)
		})
	}
}
