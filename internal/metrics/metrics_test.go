package metrics_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"go.temper.dev/temper/internal/metrics"
	"go.temper.dev/temper/internal/origin"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

var guard = origin.NewGuard("127.0.0.1:0", nil)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func TestMetricsAndHealthAreServedUntilStop(t *testing.T) {
	defer goleak.VerifyNone(t)
	r := metrics.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "temper_test_total", Help: "x"})
	r.MustRegister(c)
	c.Add(3)
	var away []string
	l := listen(t)
	url := "http://" + l.Addr().String() + "/metrics"
	s := metrics.Serve(l, guard, r, func(context.Context) []string { return away }, func(err error) { t.Error("Stop is no failure: ", err) })

	code, body := get(t, url)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "temper_test_total 3")
	require.Contains(t, body, "go_goroutines")

	health := strings.TrimSuffix(url, "/metrics") + "/healthz"
	code, _ = get(t, health)
	require.Equal(t, http.StatusOK, code)
	away = []string{"PostgreSQL does not answer", "Temporal does not answer"}
	code, body = get(t, health)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "PostgreSQL does not answer\nTemporal does not answer\n", body)

	s.Stop()
	_, err := http.Get(url)
	require.Error(t, err)
}

func TestAListenerThatFailsIsTold(t *testing.T) {
	defer goleak.VerifyNone(t)
	l := listen(t)
	failed := make(chan error, 1)
	s := metrics.Serve(l, guard, metrics.NewRegistry(), func(context.Context) []string { return nil }, func(err error) { failed <- err })
	defer s.Stop()
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-failed, net.ErrClosed)
}
