package redfish_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestAnNMIIsSentOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	require.NoError(t, s.InjectNMI(t.Context()))
	require.Equal(t, []string{"Reset Nmi"}, f.changed())
}

func TestAnNMIWhoseAnswerIsLostHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault http.HandlerFunc
		kind  fault.Kind
	}{
		"a lost answer":         {cut, fault.OutcomeUnknown},
		"a plain no is no more": {answer(400), fault.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			conf := quick()
			conf.RequestTimeout = 300 * time.Millisecond
			s := talk(t, newDriver(t, conf), f.info(nil))
			f.times(9, http.MethodPost, "ComputerSystem.Reset", c.fault)
			requireFault(t, s.InjectNMI(t.Context()), c.kind)
			require.Equal(t, 1, f.count("POST "+sysPath), "sent at most once")
		})
	}
}

func TestTheBootDevicesAreThoseThatTheBMCLists(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	all, err := s.BootDevices(t.Context())
	require.NoError(t, err)
	require.Equal(t, []bmc.Device{bmc.DevicePXE, bmc.DeviceDisk, bmc.DeviceCDROM, bmc.DeviceBIOS}, all)
}
