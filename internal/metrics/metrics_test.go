package metrics_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"go.temper.dev/temper/internal/metrics"
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

func TestMetricsAndHealthAreServedUntilStop(t *testing.T) {
	defer goleak.VerifyNone(t)
	r := metrics.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "temper_test_total", Help: "x"})
	r.MustRegister(c)
	c.Add(3)
	var away []string
	s, err := metrics.Serve("127.0.0.1:0", nil, r, func(context.Context) []string { return away })
	require.NoError(t, err)

	code, body := get(t, s.URL())
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "temper_test_total 3")
	require.Contains(t, body, "go_goroutines")

	health := strings.TrimSuffix(s.URL(), "/metrics") + "/healthz"
	code, _ = get(t, health)
	require.Equal(t, http.StatusOK, code)
	away = []string{"PostgreSQL does not answer", "Temporal does not answer"}
	code, body = get(t, health)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "PostgreSQL does not answer\nTemporal does not answer\n", body)

	s.Stop()
	_, err = http.Get(s.URL())
	require.Error(t, err)
}

func TestATakenAddressIsToldAtOnce(t *testing.T) {
	s, err := metrics.Serve("127.0.0.1:0", nil, metrics.NewRegistry(), func(context.Context) []string { return nil })
	require.NoError(t, err)
	defer s.Stop()
	taken := strings.TrimPrefix(strings.TrimSuffix(s.URL(), "/metrics"), "http://")
	_, err = metrics.Serve(taken, nil, metrics.NewRegistry(), nil)
	require.ErrorContains(t, err, "address already in use")
}
