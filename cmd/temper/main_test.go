package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/log"
	"go.temper.dev/temper/internal/metrics"
	"go.temper.dev/temper/internal/origin"
	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/status"
)

// temper runs the program as a shell would.
func temper(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = run(t.Context(), "temper", args, stdio{strings.NewReader(""), &stdout, &stderr})
	return stdout.String() + stderr.String(), err
}

func TestWhatCanNotBeDoneIsSaidInOneSentence(t *testing.T) {
	t.Setenv("TEMPER_METRICS_LISTEN", "")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a command that is none":                {[]string{"frob"}, `unknown command "frob" for "temper"`},
		"a subcommand that is none":             {[]string{"keyset", "frob"}, `unknown command "frob" for "temper keyset"`},
		"a command with a wrong letter":         {[]string{"nod"}, `unknown command "nod" for "temper"; did you mean node?`},
		"a subcommand with a wrong letter":      {[]string{"node", "shwo"}, `unknown command "shwo" for "temper node"; did you mean show?`},
		"a name instead of a subcommand":        {[]string{"node", "boot-device", "n1"}, `unknown command "n1" for "temper node boot-device"; its commands are set, show`},
		"a subcommand of a role":                {[]string{"conductor", "lst"}, `unknown command "lst" for "temper conductor"; did you mean list?`},
		"a healthcheck without time":            {[]string{"healthcheck", "--url", "http://127.0.0.1:1", "--timeout", "0s"}, "--timeout is 0s: it must be above 0"},
		"a flag that is none":                   {[]string{"api", "--frob"}, "unknown flag: --frob"},
		"a role without what it needs":          {[]string{"orchestrator"}, `database_url: "" from default`},
		"a driver that nobody has":              {[]string{"conductor", "--enabled-drivers", "abacus"}, "no hardware type abacus; want some of redfish, idrac, ipmi, fake-hardware"},
		"a delay of fake hardware that is none": {[]string{"conductor", "--fake", "deploy_delay=soon"}, "deploy_delay"},
		"a keyset that is not there":            {[]string{"keyset", "rotate", "/nowhere/keys"}, "/nowhere/keys"},
		"a healthcheck of nobody":               {[]string{"healthcheck"}, "TEMPER_METRICS_LISTEN"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := temper(t, c.args...)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheRacksHelpListsItsFaults(t *testing.T) {
	out, err := temper(t, "rack", "--help")
	require.NoError(t, err)
	require.Contains(t, out, faults.Help())
	require.Contains(t, out, faults.Example)
}

func TestTheVersionSaysWhatWasBuilt(t *testing.T) {
	for _, how := range []string{"version", "--version"} {
		out, err := temper(t, how)
		require.NoError(t, err)
		require.Regexp(t, `^temper \S+, commit \S+, go1\.\S+ \w+/\w+\n$`, out)
	}
}

func TestKeysAreMadeOnceAndRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	_, err := temper(t, "keyset", "new", path)
	require.NoError(t, err)
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	_, err = temper(t, "keyset", "new", path)
	require.ErrorContains(t, err, "is there already")
	same, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, first, same, "keys that have sealed something must not be lost")

	_, err = temper(t, "keyset", "rotate", path)
	require.NoError(t, err)
	second, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Greater(t, len(second), len(first), "the older key stays")
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestAHealthcheckAsksTheMetricsAddress(t *testing.T) {
	sick := false
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if sick {
			http.Error(w, "postgresql is away", http.StatusServiceUnavailable)
		}
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	t.Setenv("TEMPER_METRICS_LISTEN", strings.Replace(s.Listener.Addr().String(), "127.0.0.1", "0.0.0.0", 1))
	_, err := temper(t, "healthcheck")
	require.NoError(t, err)
	sick = true
	_, err = temper(t, "healthcheck")
	require.ErrorContains(t, err, "postgresql is away")
}

// testRole is a role that does what a test says.
func testRole(run func(context.Context, *process) error) (role, *config.Rack) {
	r := &config.Rack{}
	return role{name: "rack", short: "x", settings: r, common: &r.Process, run: run}, r
}

func TestARoleTellsWhereItIsAndStopsWhenTold(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready.json")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, _ := testRole(func(ctx context.Context, p *process) error {
		p.ready("http://127.0.0.1:7", func(context.Context) error { return nil })
		<-ctx.Done()
		return nil
	})
	c := r.command()
	var out syncBuffer
	c.SetErr(&out)
	c.SetArgs([]string{"--api-url", "http://127.0.0.1:6385", "--ready-file", ready})
	ended := make(chan error, 1)
	go func() { ended <- c.ExecuteContext(ctx) }()
	var at devfile.Ready
	require.Eventually(t, func() (ok bool) {
		var err error
		at, err = devfile.ReadReady(ready)
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, "http://127.0.0.1:7", at.URL)
	res, err := http.Get(at.MetricsURL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	stop()
	require.NoError(t, <-ended)
	require.Contains(t, out.String(), `"api_url":"http://127.0.0.1:6385 (flag --api-url)"`, "its settings are printed")
}

// Anybody who reaches the address of the metrics may ask for the health.
func TestTheHealthOfARoleTellsNoAddresses(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready.json")
	r, _ := testRole(func(ctx context.Context, p *process) error {
		p.ready("", func(context.Context) error {
			return errors.Join(missing("postgresql", status.Answer{Trouble: status.PostgreSQLAway, Err: errors.New("connect to user=temper host=10.1.2.3: password authentication failed")}), errors.New("10.4.5.6 is silent"))
		})
		<-ctx.Done()
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	c := r.command()
	var out syncBuffer
	c.SetErr(&out)
	c.SetArgs([]string{"--api-url", "http://127.0.0.1:6385", "--ready-file", ready})
	ended := make(chan error, 1)
	go func() { ended <- c.ExecuteContext(ctx) }()
	defer func() { stop(); require.NoError(t, <-ended) }()
	var at devfile.Ready
	require.Eventually(t, func() (ok bool) {
		var err error
		at, err = devfile.ReadReady(ready)
		return err == nil
	}, 30*time.Second, 5*time.Millisecond)
	url := strings.TrimSuffix(at.MetricsURL, "/metrics") + "/healthz"
	for range 3 {
		err := healthcheck(t.Context(), url)
		require.EqualError(t, err, "not well: "+url+" answers 503 Service Unavailable: PostgreSQL does not answer")
	}
	require.Equal(t, 1, strings.Count(out.String(), "password authentication failed"), "the log says all of it, once")
	require.Contains(t, out.String(), "10.4.5.6 is silent")
}

func TestARoleThatDoesNotStopIsCutOff(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	ctx, stop := context.WithCancel(t.Context())
	r, _ := testRole(func(context.Context, *process) error { stop(); <-hang; return nil })
	c := r.command()
	c.SetErr(&syncBuffer{})
	c.SetArgs([]string{"--api-url", "http://127.0.0.1:6385", "--shutdown-grace", "20ms"})
	require.ErrorContains(t, c.ExecuteContext(ctx), "did not stop within 20ms")
}

func TestWhatIsAwayIsWaitedForAloud(t *testing.T) {
	var out syncBuffer
	l, err := log.New(&out, "info", log.JSON, "api", "")
	require.NoError(t, err)
	p := &process{log: l, metrics: metrics.NewRegistry()}
	tries := 0
	got, err := connect(t.Context(), p, "postgresql", func(context.Context) (string, error) {
		if tries++; tries < 3 {
			return "", errors.New("connection refused")
		}
		return "here", nil
	})
	require.NoError(t, err)
	require.Equal(t, "here", got)
	require.Equal(t, 2, strings.Count(out.String(), "waiting for postgresql"))
	require.Contains(t, out.String(), "connection refused")
	require.Contains(t, out.String(), "postgresql answers")
	require.ErrorContains(t, p.health(t.Context()), "wait for postgresql: connection refused")
}

func TestWhatWaitingCanNotMendIsAnError(t *testing.T) {
	p := &process{log: zap.NewNop()}
	_, err := connect(t.Context(), p, "postgresql", func(context.Context) (int, error) {
		return 0, backoff.Permanent(errors.New("the schema is newer"))
	})
	require.ErrorContains(t, err, "reach postgresql: the schema is newer")
}

func TestLinksToWorkflows(t *testing.T) {
	at := workflowURL("http://ui/", "temper")
	require.Equal(t, "http://ui/namespaces/temper/workflows/node%2Fu%2Fdeploy%2F7/r", at(operation("node/u/deploy/7", "r")))
	require.Empty(t, workflowURL("", "temper")(operation("w", "")))
}

// syncBuffer is a buffer that a role and its test use at the same time.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Without its metrics listener nobody can see whether a role is healthy, so it does not go on without.
func TestARoleEndsWithItsMetricsListener(t *testing.T) {
	guard := origin.NewGuard("127.0.0.1:0", nil)
	for name, end := range map[string]func(context.Context) error{
		"cleanly":                  func(context.Context) error { return nil },
		"with its context's error": context.Context.Err,
		"with an error":            func(context.Context) error { return errors.New("no disk") },
	} {
		t.Run(name, func(t *testing.T) {
			p := &process{log: zap.NewNop(), metrics: metrics.NewRegistry()}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			err = p.serveMetrics(t.Context(), l, guard, func(ctx context.Context) error {
				require.NoError(t, l.Close())
				<-ctx.Done()
				return end(ctx)
			})
			require.ErrorContains(t, err, "serve metrics: ")
			require.ErrorIs(t, err, net.ErrClosed)
		})
	}
	p := &process{log: zap.NewNop(), metrics: metrics.NewRegistry()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, p.serveMetrics(t.Context(), l, guard, func(context.Context) error { return nil }), "a role that ends is no failure")
}

func TestATakenMetricsAddressIsToldAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = temper(t, "rack", "--api-url", "http://127.0.0.1:1", "--metrics-listen", l.Addr().String())
	require.ErrorContains(t, err, "serve metrics: ")
	require.ErrorContains(t, err, "address already in use")
}
