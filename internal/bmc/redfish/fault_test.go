package redfish_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
)

// requireFault checks the kind and text of an error, and that neither it nor an error that
// it wraps contains a secret.
func requireFault(t *testing.T, err error, want fault.Kind, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want.String(), fault.KindOf(err).String(), err.Error())
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
	require.Less(t, len(err.Error()), 1500, "an error is bounded")
	inJSON, _ := json.Marshal(password)
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, secret := range []string{password, strings.Trim(string(inJSON), `"`), url.QueryEscape(password), url.PathEscape(password), "token-"} {
			require.NotContains(t, e.Error(), secret)
		}
	}
}

func answer(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		message(w, status, "Base.1.8.GeneralError", "A general error has occurred.")
	}
}

func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, json.RawMessage(text)) }
}

func TestReadingTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault http.HandlerFunc
		kind  fault.Kind
		words []string
	}{
		"a broken BMC is unreachable":               {answer(500), fault.Unreachable, []string{"GET " + sysPath, "500", "A general error has occurred"}},
		"a gateway without a BMC is unreachable":    {answer(502), fault.Unreachable, []string{"502"}},
		"a BMC that is away is unreachable":         {answer(503), fault.Unreachable, []string{"503"}},
		"a BMC that says when is busy":              {answer(503, "Retry-After", "120"), fault.Busy, []string{"503"}},
		"a BMC that counts requests is busy":        {answer(429), fault.Busy, []string{"429"}},
		"a refusal has the BMC's words":             {answer(400), fault.Refused, []string{"400", "A general error has occurred"}},
		"a system that is not there is refused":     {answer(404), fault.Refused, []string{sysPath, "404"}},
		"an account without rights is denied":       {answer(403), fault.Denied, []string{"403"}},
		"another place is not followed":             {answer(301, "Location", "https://evil.example/x"), fault.Refused, []string{"evil.example", "redfish_address"}},
		"a connection that breaks is unreachable":   {cut, fault.Unreachable, []string{"closed the connection"}},
		"a truncated answer names the resource":     {raw(`{"PowerState": "O`), fault.Unreachable, []string{sysPath, "incomplete JSON"}},
		"an empty answer names the resource":        {raw(``), fault.Unreachable, []string{sysPath, "incomplete JSON"}},
		"a list in place of a system is told":       {raw(`[]`), fault.Unreachable, []string{sysPath, "not a JSON object"}},
		"a web page in place of a system is told":   {raw(`<html>login</html>`), fault.Unreachable, []string{sysPath, "not a JSON object"}},
		"a mistyped power state names the property": {raw(`{"PowerState": 1}`), fault.Unreachable, []string{sysPath, "PowerState"}},
		"an answer without end is cut off": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"x":"` + strings.Repeat("a", 5<<20)))
		}, fault.Unreachable, []string{"larger than"}},
		"an answer shorter than promised is told": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"PowerState":`))
		}, fault.Unreachable, []string{"cut off"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.times(100, http.MethodGet, sysPath, c.fault)
			_, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
			requireFault(t, err, c.kind, c.words...)
		})
	}
}

func TestPowerStatesWithoutAWordAreUnknown(t *testing.T) {
	t.Parallel()
	for _, told := range []string{`{"PowerState": "Paused"}`, `{"PowerState": null}`, `{}`, `{"PowerState": ""}`} {
		f := newFixture(t)
		f.times(100, http.MethodGet, sysPath, raw(told))
		p, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
		require.NoError(t, err, told)
		require.Equal(t, bmc.PowerUnknown, p, told)
	}
}

func TestAReadIsRepeatedOnceAndAChangeNever(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    http.HandlerFunc
		times    int
		repeated bool
	}{
		"a connection reset is repeated":                   {cut, 1, true},
		"a BMC that is away for a moment is repeated":      {answer(503), 1, true},
		"a pause that fits is waited for":                  {answer(503, "Retry-After", "1"), 1, true},
		"resets without end are told":                      {cut, 3, false},
		"an error of the BMC is told":                      {answer(500), 1, false},
		"a pause longer than the deadline is told at once": {answer(503, "Retry-After", "30"), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			conf := quick()
			conf.RequestTimeout = 20 * time.Second // shorter than the longest Retry-After, longer than anything else takes
			s := talk(t, newDriver(t, conf), f.info(nil))
			_, err := s.Power(t.Context())
			require.NoError(t, err)
			before := f.count("GET " + sysPath)
			f.times(c.times, http.MethodGet, sysPath, c.fault)
			begun := time.Now()
			_, err = s.Power(t.Context())
			if c.repeated {
				require.NoError(t, err)
				require.Equal(t, 2, f.count("GET "+sysPath)-before)
				return
			}
			require.Error(t, err)
			require.Less(t, time.Since(begun), conf.RequestTimeout/2, "the driver does not wait for a retry that comes too late")
			// One more than the driver sends: Go's transport repeats a GET on a kept connection that was closed.
			require.LessOrEqual(t, f.count("GET "+sysPath)-before, 3)

			f.times(1, http.MethodPost, "ComputerSystem.Reset", c.fault)
			posts := f.count("POST " + sysPath)
			require.Error(t, s.RequestPower(t.Context(), bmc.RequestOn))
			require.Equal(t, 1, f.count("POST "+sysPath)-posts, "a change is sent once")
		})
	}
}

func TestABusyBMCSaysForHowLong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.times(100, http.MethodGet, sysPath, answer(503, "Retry-After", "120"))
	_, err := talk(t, newDriver(t, quick()), f.info(nil)).Power(t.Context())
	requireFault(t, err, fault.Busy)
	require.InDelta(t, 120, bmc.RetryAfter(err).Seconds(), 2)
}

func TestABMCBetweenTwoStatesIsBusy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.once(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) {
		message(w, http.StatusConflict, "Base.1.8.ResourceInUse", "The resource is in transition.")
	})
	err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
	requireFault(t, err, fault.Busy, "in transition")
}

func TestTheBMCsWordsAreBoundedAndPrintable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.once(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) {
		message(w, http.StatusBadRequest, "Base.1.8.X", "line\none\x1b[31m "+strings.Repeat("ü", 100000))
	})
	err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
	requireFault(t, err, fault.Refused, "line one[31m")
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "\x1b")
}

func TestABMCThatRepeatsOurSecretsIsNotQuoted(t *testing.T) {
	t.Parallel()
	inJSON, _ := json.Marshal(password)
	for name, told := range map[string]string{
		"as it is":      password,
		"in JSON":       string(inJSON),
		"in a query":    "p=" + url.QueryEscape(password),
		"in a path":     "/" + url.PathEscape(password),
		"cut in two":    strings.Repeat("x", 295) + password,
		"session token": "token-1 is not allowed",
	} {
		for _, status := range []int{400, 403, 500, 503} {
			f := newFixture(t)
			f.times(9, http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) {
				message(w, status, "Base.1.8.X", told)
			})
			s := talk(t, newDriver(t, quick()), f.info(nil))
			err := s.RequestPower(t.Context(), bmc.RequestOn)
			require.Error(t, err, name)
			requireFault(t, err, fault.KindOf(err))
			requireFault(t, s.Restart(t.Context()), fault.KindOf(s.Restart(t.Context())))
			require.NotContains(t, err.Error(), password[:4], name)
		}
	}
}

func TestAcceptedIsDoneUnlessTheTaskHasFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task string
		fail bool
	}{
		"a task under way is accepted":       {`{"TaskState": "Running"}`, false},
		"a task of an unknown shape as well": {`[]`, false},
		"an answer without a task as well":   {``, false},
		"a task that ended badly is refused": {`{"TaskState": "Exception", "Messages": [{"MessageId": "X", "Message": "No power budget."}]}`, true},
		"a cancelled task is refused":        {`{"TaskState": "Cancelled"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.once(http.MethodPost, "ComputerSystem.Reset", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/redfish/v1/TaskService/TaskMonitors/1")
				w.WriteHeader(http.StatusAccepted)
				_, _ = w.Write([]byte(c.task))
			})
			err := talk(t, newDriver(t, quick()), f.info(nil)).RequestPower(t.Context(), bmc.RequestOn)
			if !c.fail {
				require.NoError(t, err)
				return
			}
			requireFault(t, err, fault.Refused, "task ended")
		})
	}
}

func TestTheObserverHearsEachRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var mu sync.Mutex
	heard := map[string]int{}
	conf := quick()
	conf.Observer = func(method, outcome string, d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		heard[method+" "+outcome]++
		require.Positive(t, d)
	}
	s := talk(t, newDriver(t, conf), f.info(nil))
	f.times(1, http.MethodGet, sysPath, answer(503))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	f.times(1, http.MethodPost, "ComputerSystem.Reset", cut)
	require.Error(t, s.RequestPower(t.Context(), bmc.RequestForceOff))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, heard["GET unreachable"])
	require.Equal(t, 1, heard["POST unreachable"])
	require.Equal(t, 2, heard["POST ok"], "the login and the first reset")
	require.Equal(t, len(f.seen()), func() (n int) {
		for _, k := range heard {
			n += k
		}
		return n
	}())
}

func TestNobodyListensThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	info := f.info(nil)
	f.srv.Close()
	_, err := talk(t, newDriver(t, quick()), info).Power(t.Context())
	requireFault(t, err, fault.Unreachable, "refused")
}

func TestAPlaceWithoutRedfishIsTold(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	_, err := talk(t, newDriver(t, redfish.Config{}), map[string]any{"redfish_address": srv.URL}).Power(t.Context())
	requireFault(t, err, fault.Refused, "no Redfish service", "redfish_address")
}
