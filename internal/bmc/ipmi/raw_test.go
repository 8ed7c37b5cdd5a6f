package ipmi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

func TestARawCommandIsSentOnceAsItWasGiven(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	c := quick()
	c.RequestTimeout = 2 * time.Second
	s := open(t, newDriver(t, c), r.info(nil))
	require.NoError(t, s.SendRaw(t.Context(), []byte{0x00, 0x02, 0x01}), "Chassis Control: power up")
	require.Eventually(t, func() bool { p, err := s.Power(t.Context()); return err == nil && p == bmc.PowerOn }, 10*time.Second, time.Millisecond)
	require.Equal(t, []string{"On"}, r.server().resets())
	r.faults(`{"kind":"lost_packet","count":1,"when":"after","command":"Chassis Control"}`)
	require.Equal(t, fault.OutcomeUnknown, fault.KindOf(s.SendRaw(t.Context(), []byte{0x00, 0x02, 0x04})))
	require.Equal(t, []string{"On", "Nmi"}, r.server().resets())

	err := s.SendRaw(t.Context(), []byte{0x30, 0x70, 0x66, 0x01})
	require.Equal(t, fault.Refused, fault.KindOf(err))
	require.ErrorContains(t, err, "the raw command 0x30 0x70 with 0xc1")
	for _, wrong := range [][]byte{nil, {0x06}, {0x07, 0x01}, {0x40, 0x01}, make([]byte, 40)} {
		require.Equal(t, fault.Invalid, fault.KindOf(s.SendRaw(t.Context(), wrong)), "%x", wrong)
	}
}

func TestAWarmRestartOfTheBMC(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(nil))
	require.NoError(t, s.RestartBMC(t.Context(), true))
	require.Eventually(t, func() bool { _, err := s.Power(t.Context()); return err == nil }, 10*time.Second, time.Millisecond)
}
