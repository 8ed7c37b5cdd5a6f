package redfish_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
)

func power(t *testing.T, d *redfish.Driver, info map[string]any) error {
	t.Helper()
	_, err := talk(t, d, info).Power(t.Context())
	return err
}

func TestOneSessionServesManyConversations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := newDriver(t, quick())
	for range 5 {
		require.NoError(t, power(t, d, f.info(nil)))
	}
	var wg sync.WaitGroup
	for range 10 {
		s := talk(t, d, f.info(nil))
		wg.Go(func() { _, _ = s.Power(t.Context()) })
	}
	wg.Wait()
	require.Equal(t, 1, f.shown())
	require.Equal(t, 1, f.openSessions())
}

func TestASessionThatEndedIsRenewedOnceForAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := newDriver(t, quick())
	s := talk(t, d, f.info(nil))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	f.dropTokens()
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestForceOff))
	require.Equal(t, 2, f.shown())
	require.Equal(t, []string{"Reset On", "Reset ForceOff"}, f.changed())

	f.dropTokens()
	var wg sync.WaitGroup
	for range 10 {
		s := talk(t, d, f.info(nil))
		wg.Go(func() {
			if _, err := s.Power(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 3, f.shown(), "of many that were refused, one logs in")
}

func TestAChangeRefusedForItsSessionIsSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	f.once(http.MethodPost, "ComputerSystem.Reset", answer(401))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Equal(t, []string{"Reset On"}, f.changed())
	require.Equal(t, 2, f.count("POST "+sysPath))
}

func TestABMCThatRefusesEverySessionIsNotAskedForever(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.times(100, http.MethodGet, sysPath, answer(401))
	requireFault(t, power(t, newDriver(t, quick()), f.info(nil)), fault.Denied)
	require.Equal(t, 2, f.shown(), "the login and its renewal")
	require.Equal(t, 2, f.count("GET "+sysPath))
}

func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"auto", "session", "basic"} {
		t.Run("by "+auth, func(t *testing.T) {
			f := newFixture(t)
			conf := quick()
			d := newDriver(t, conf)
			wrong := f.info(map[string]any{"redfish_password": "wrong-1", "redfish_auth_type": auth})
			s := talk(t, d, wrong)
			for range 5 {
				_, err := s.Power(t.Context())
				requireFault(t, err, fault.Denied)
				require.NotContains(t, err.Error(), "wrong-1")
			}
			err := power(t, d, wrong)
			requireFault(t, err, fault.Denied, "lock the account", "not tried again before")
			require.NotContains(t, err.Error(), "wrong-1")

			var wg sync.WaitGroup
			for range 10 {
				s := talk(t, d, wrong)
				wg.Go(func() { _, _ = s.Power(t.Context()) })
			}
			wg.Wait()
			require.Equal(t, 1, f.shown(), "however many ask")

			// Another redfish_auth_type or redfish_verify_ca is still the same account.
			requireFault(t, power(t, d, f.info(map[string]any{"redfish_password": "wrong-1", "redfish_auth_type": auth, "redfish_verify_ca": false})), fault.Denied)
			require.Equal(t, 1, f.shown())

			require.NoError(t, power(t, d, f.info(map[string]any{"redfish_auth_type": auth})), "new credentials are tried at once")
		})
	}
}

func TestManyAtOnceShowAWrongPasswordOnce(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"session", "basic"} {
		f := newFixture(t)
		d := newDriver(t, quick())
		var wg sync.WaitGroup
		for range 20 {
			s := talk(t, d, f.info(map[string]any{"redfish_password": "wrong-1", "redfish_auth_type": auth}))
			wg.Go(func() { _, _ = s.Power(t.Context()) })
		}
		wg.Wait()
		require.Equal(t, 1, f.shown(), auth)
	}
}

func TestADenialIsForgottenAfterAWhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.DeniedFor = 50 * time.Millisecond
	d := newDriver(t, conf)
	f.times(1, http.MethodPost, "Sessions", answer(401))
	s := talk(t, d, f.info(nil))
	_, err := s.Power(t.Context())
	requireFault(t, err, fault.Denied)
	require.Eventually(t, func() bool {
		c, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: f.info(nil)})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Power(t.Context())
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)
	_, err = s.Power(t.Context())
	requireFault(t, err, fault.Denied) // a conversation sends the password only once
}

func TestADenialOutlivesAnIdleBMC(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.SessionIdle = 10 * time.Millisecond
	d := newDriver(t, conf)
	wrong := f.info(map[string]any{"redfish_password": "wrong-1"})
	ask := func() {
		s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: wrong})
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Power(t.Context())
		requireFault(t, err, fault.Denied)
	}
	ask()
	until := time.Now().Add(100 * time.Millisecond)
	require.Eventually(t, func() bool { return time.Now().After(until) }, 30*time.Second, 10*time.Millisecond)
	ask()
	require.Equal(t, 1, f.shown())
}

func TestAPasswordThatStoppedWorkingIsNotShownAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := newDriver(t, quick())
	basic := f.info(map[string]any{"redfish_auth_type": "basic"})
	require.NoError(t, power(t, d, basic))
	before := f.shown()
	f.on(http.MethodGet, "", func(w http.ResponseWriter, r *http.Request) bool {
		answer(401)(w, r)
		return true
	})
	for range 3 {
		requireFault(t, power(t, d, basic), fault.Denied)
	}
	require.Equal(t, before, f.shown(), "the hook counts nothing")
	require.LessOrEqual(t, f.count("GET "+sysPath), 2, "one refused, and no more")
}

func TestWhereToLogIn(t *testing.T) {
	t.Parallel()
	noSessions := map[string]any{"Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers")}
	tokenless := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }
	full := func(w http.ResponseWriter, _ *http.Request) {
		message(w, 503, "Base.1.8.SessionLimitExceeded", "The session establishment failed due to the number of simultaneous sessions exceeding the limit.")
	}
	for name, c := range map[string]struct {
		auth  string
		root  any
		login http.HandlerFunc
		kind  fault.Kind
		words string
		basic bool
	}{
		"auto makes a session":                          {auth: "auto"},
		"basic makes none":                              {auth: "basic", basic: true},
		"auto takes basic where there is no service":    {auth: "auto", root: noSessions, basic: true},
		"auto takes basic where the service is missing": {auth: "auto", login: answer(404), basic: true},
		"auto takes basic where no session is free":     {auth: "auto", login: full, basic: true},
		"auto takes basic where no token comes":         {auth: "auto", login: tokenless, basic: true},
		"session without a service is refused":          {auth: "session", root: noSessions, kind: fault.Refused, words: "no sessions"},
		"session without a token is told":               {auth: "session", login: tokenless, kind: fault.Unreachable, words: "no token"},
		"session without a free one is told":            {auth: "session", login: full, kind: fault.Unreachable, words: "exceeding the limit"},
		"a service that broke is told":                  {auth: "auto", login: answer(500), kind: fault.Unreachable, words: "500"},
		"a 400 that means a wrong password is denied": {auth: "auto", login: func(w http.ResponseWriter, _ *http.Request) {
			message(w, 400, "iLO.2.8.UnauthorizedLoginAttempt", "The login attempt was unsuccessful.")
		}, kind: fault.Denied, words: "unsuccessful"},
		"a root without links means the standard places": {auth: "session", root: map[string]any{"SessionService": link("/redfish/v1/SessionService")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if c.root != nil {
				f.set("/redfish/v1/", c.root)
			}
			if c.login != nil {
				f.times(100, http.MethodPost, "Sessions", c.login)
			}
			err := power(t, newDriver(t, quick()), f.info(map[string]any{"redfish_auth_type": c.auth}))
			if c.words != "" {
				requireFault(t, err, c.kind, c.words)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.basic, f.openSessions() == 0)
		})
	}
}

func TestARootThatIsNotOpenIsWorkedAround(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.times(100, http.MethodGet, "/redfish/v1/", answer(401))
	require.NoError(t, power(t, newDriver(t, quick()), f.info(nil)))
}

func TestWithoutAnAccountNothingIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	err := power(t, newDriver(t, quick()), map[string]any{"redfish_address": f.srv.URL})
	requireFault(t, err, fault.Denied, "redfish_username")
	require.Zero(t, f.shown())
}

func TestAnIdleSessionIsLoggedOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.SessionIdle = 50 * time.Millisecond
	d := newDriver(t, conf)
	s := talk(t, d, f.info(nil))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, f.openSessions())
	require.Eventually(t, func() bool { return f.openSessions() == 0 }, 30*time.Second, 5*time.Millisecond)
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn), "a conversation that went on logs in again")
}

func TestClosingTheDriverLogsOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := redfish.New(quick())
	s := talk(t, d, f.info(nil))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	d.Close(t.Context())
	require.Zero(t, f.openSessions())
	require.Equal(t, 1, f.count("DELETE /redfish/v1/SessionService/Sessions/"))

	_, err = s.Power(t.Context())
	requireFault(t, err, fault.Unavailable)
	_, err = d.Open(t.Context(), bmc.Target{Info: f.info(nil)})
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Zero(t, f.openSessions(), "nobody logs in after the end")
}

func TestClosingDoesNotWaitForASilentBMC(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conf := quick()
	conf.RequestTimeout = time.Minute
	d := redfish.New(conf)
	require.NoError(t, power(t, d, f.info(nil)))
	f.on(http.MethodDelete, "", func(_ http.ResponseWriter, r *http.Request) bool {
		silent(nil, r)
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	d.Close(ctx)
	require.Less(t, time.Since(begun), 5*time.Second)
}

func TestAnotherBMCNeverSeesTheCredentials(t *testing.T) {
	t.Parallel()
	other := newFixture(t)
	host := strings.TrimPrefix(other.srv.URL, "http://")
	for name, path := range map[string]string{
		"a full URL":               other.srv.URL + sysPath,
		"a URL without a scheme":   "//" + host + sysPath,
		"no path":                  host + sysPath,
		"a URL with user and host": "http://x@" + host + sysPath,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set("/redfish/v1/Systems", map[string]any{"Members": []any{link(path)}})
			requireFault(t, power(t, newDriver(t, quick()), f.info(nil)), fault.Unreachable)
		})
	}
	t.Run("a redirect", func(t *testing.T) {
		f := newFixture(t)
		f.times(100, http.MethodGet, sysPath, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.srv.URL+sysPath, http.StatusTemporaryRedirect)
		})
		f.times(100, http.MethodPost, "Reset", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.srv.URL+r.URL.Path, http.StatusTemporaryRedirect)
		})
		requireFault(t, power(t, newDriver(t, quick()), f.info(nil)), fault.Refused, "is not followed")
	})
	require.Empty(t, other.seen())
}

func TestARedirectOnTheSameBMCIsFollowedForReadingOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.once(http.MethodGet, sysPath, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, sysPath+"/", http.StatusPermanentRedirect)
	})
	f.on(http.MethodGet, sysPath+"/", func(w http.ResponseWriter, r *http.Request) bool {
		reply(w, map[string]any{"PowerState": "On"})
		return true
	})
	p, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOn, p)

	f.once(http.MethodPost, "Reset", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
	})
	requireFault(t, talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn), fault.Refused)
	require.Empty(t, f.changed())
}

func TestABMCBehindAPathPrefix(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	prefixed := http.NewServeMux()
	prefixed.Handle("/bmc/17/", http.StripPrefix("/bmc/17", f))
	srv := newServer(t, prefixed)
	for _, address := range []string{srv + "/bmc/17", srv + "/bmc/17/", srv + "/bmc/17/redfish/v1/"} {
		require.NoError(t, power(t, newDriver(t, quick()), f.info(map[string]any{"redfish_address": address})))
	}
}
