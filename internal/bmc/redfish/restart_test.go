package redfish_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestALostAnswerToAWishIsForTheCallerToReadBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	f.on(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, r *http.Request) bool {
		f.serve(httptest.NewRecorder(), r)
		cut(w, r)
		return true
	})
	requireFault(t, s.RequestPower(t.Context(), bmc.RequestOn), fault.Unreachable, "closed the connection")
	p, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOn, p)
	require.Equal(t, []string{"Reset On"}, f.changed(), "sent once")
}

func TestARestartWhoseAnswerIsLostHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault http.HandlerFunc
		kind  fault.Kind
	}{
		"a lost answer":                       {cut, fault.OutcomeUnknown},
		"a BMC that breaks over it":           {answer(500), fault.OutcomeUnknown},
		"a gateway that lost it":              {answer(504), fault.OutcomeUnknown},
		"a plain no is a plain no":            {answer(400), fault.Refused},
		"a BMC that is away did not do it":    {answer(503), fault.Unreachable},
		"a BMC that says later did not do it": {answer(503, "Retry-After", "9"), fault.Busy},
		"a BMC that forbids it did not do it": {answer(403), fault.Denied},
		"a silent BMC may have done it":       {silent, fault.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			conf := quick()
			conf.RequestTimeout = 300 * time.Millisecond
			s := talk(t, newDriver(t, conf), f.info(nil))
			f.times(9, http.MethodPost, "ComputerSystem.Reset", c.fault)
			requireFault(t, s.Restart(t.Context()), c.kind)
			require.Equal(t, 1, f.count("POST "+sysPath), "sent at most once")
		})
	}
}

func TestARestartThatWasNotSentIsNoSecret(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(*fixture){
		"the system could not be read": func(f *fixture) { f.times(9, http.MethodGet, sysPath, answer(500)) },
		"the login broke":              func(f *fixture) { f.times(9, http.MethodPost, "Sessions", cut) },
		"the login was an error":       func(f *fixture) { f.times(9, http.MethodPost, "Sessions", answer(500)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			break_(f)
			err := talk(t, newDriver(t, quick()), f.info(nil)).Restart(t.Context())
			requireFault(t, err, fault.Unreachable)
			require.Zero(t, f.count("POST "+sysPath))
		})
	}
}

func TestACancelledRestartTellsThatItWasSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	ctx, cancel := context.WithCancel(t.Context())
	f.once(http.MethodPost, "ComputerSystem.Reset", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		silent(nil, r)
	})
	requireFault(t, s.Restart(ctx), fault.OutcomeUnknown)
}

func TestAWishThatCameTrueAlreadyIsNoError(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"a 4xx": 409, "sushy-tools' 500": 500} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := talk(t, newDriver(t, quick()), f.info(nil))
			f.on(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) bool {
				message(w, status, "Base.1.8.NoOperation", "The server is already in the requested state.")
				return true
			})
			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestForceOff), "it is off")
			err := s.RequestPower(t.Context(), bmc.RequestOn)
			requireFault(t, err, fault.KindOf(err), "already in the requested state")
			require.Contains(t, []fault.Kind{fault.Refused, fault.Unreachable}, fault.KindOf(err))
		})
	}
}
