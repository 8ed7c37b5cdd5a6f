package redfish_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
)

func TestAChangeReliesOnWhatWasReadJustBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	reads := f.count("GET " + sysPath)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Equal(t, reads, f.count("GET "+sysPath), "the request relies on the reading")
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestForceOff))
	require.Equal(t, reads+1, f.count("GET "+sysPath), "the request before has changed the system")

	_, err = s.Boot(t.Context())
	require.NoError(t, err)
	reads = f.count("GET " + sysPath)
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceCDROM}))
	require.Equal(t, reads, f.count("GET "+sysPath))
	b, err := s.Boot(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.Boot{Device: bmc.DeviceCDROM, Mode: b.Mode}, b)
	require.Equal(t, reads+1, f.count("GET "+sysPath), "what is asked for is read")

	_, err = s.Media(t.Context())
	require.NoError(t, err)
	reads = f.count("GET " + cdPath)
	require.NoError(t, s.InsertMedia(t.Context(), "http://images/deploy.iso"))
	require.Equal(t, reads, f.count("GET "+cdPath))
	m, err := s.Media(t.Context())
	require.NoError(t, err)
	require.True(t, m.Inserted)
	require.NoError(t, s.EjectMedia(t.Context()))
	require.Equal(t, reads+1, f.count("GET "+cdPath))
}

// A reading of before a lost answer says nothing about the time after it.
func TestARequestWithoutAnAnswerMakesEarlierReadingsVoid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	f.times(1, http.MethodPost, "/Actions/ComputerSystem.Reset", silent)
	require.Error(t, s.RequestPower(t.Context(), bmc.RequestOn))
	reads := f.count("GET " + sysPath)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Equal(t, reads+1, f.count("GET "+sysPath))
}
