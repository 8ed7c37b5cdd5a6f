package ipmi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

func TestTheEventLogIsReadAndCleared(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(nil))
	texts := func(limit int) (out []string) {
		t.Helper()
		events, err := s.Events(t.Context(), limit)
		require.NoError(t, err)
		require.Empty(t, events.Incomplete)
		for _, e := range events.List {
			require.True(t, e.Asserted)
			require.WithinDuration(t, time.Now(), e.At, time.Minute)
			out = append(out, e.Sensor+": "+e.Text)
		}
		return out
	}
	require.Empty(t, texts(10))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Eventually(t, func() bool { p, err := s.Power(t.Context()); return err == nil && p == bmc.PowerOn }, 10*time.Second, time.Millisecond)
	require.NoError(t, s.InjectNMI(t.Context()))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestForceOff))
	want := []string{
		"System ACPI Power State 0x22: S0 / G0 (working)", "Critical Interrupt 0x13: Front Panel NMI / Diagnostic Interrupt", "System ACPI Power State 0x22: S5 / G2 (soft-off)",
	}
	require.Equal(t, want, texts(10))
	require.Equal(t, want[1:], texts(2), "the newest")

	for _, when := range []string{"before", "after"} { // a packet is lost
		r.faults(`{"kind":"lost_packet","count":1,"when":"` + when + `","command":"Clear SEL"}`)
		cleared, err := s.ClearEvents(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"SEL"}, cleared)
		require.Equal(t, []string{"Event Logging Disabled 0x10: Log Area Reset/Cleared"}, texts(10))
	}
}

// A probe tells what is there, and why something does not work.
func TestAProbeTellsWhatTheBMCCanDo(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	p, err := newDriver(t, quick()).Probe(t.Context(), bmc.Target{Node: nodeID, Info: r.info(nil)})
	require.NoError(t, err)
	require.Equal(t, []any{17, "ADMINISTRATOR", "2.0", "1.00", uint8(0x20)}, []any{p.CipherSuite, p.Privilege, p.IPMI, p.Firmware, p.Device})
	names := []string{}
	for _, f := range p.Findings {
		require.True(t, f.Works, "%v", f)
		names = append(names, f.Operation)
	}
	require.Equal(t, []string{"read the power state", "switch on and off", "choose the boot device", "open the serial console", "read the sensors", "read the event log"}, names)

	p, err = newDriver(t, quick()).Probe(t.Context(), bmc.Target{Node: nodeID, Info: r.info(map[string]any{"ipmi_priv_level": "USER", "ipmi_cipher_suite": "3"})})
	require.NoError(t, err)
	require.Equal(t, []any{3, "USER"}, []any{p.CipherSuite, p.Privilege})
	for _, f := range p.Findings {
		if f.Operation == "switch on and off" {
			require.False(t, f.Works)
			require.Contains(t, f.Words, "needs the privilege level OPERATOR")
		}
	}
	_, err = newDriver(t, quick()).Probe(t.Context(), bmc.Target{Node: nodeID, Info: r.info(map[string]any{"ipmi_password": "wrong"})})
	require.Equal(t, fault.Denied, fault.KindOf(err), "%v", err)
}
