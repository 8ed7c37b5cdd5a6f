package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// longNamed are answers of an API in which everything has a long name. Operations have a cause, and one stands for others.
func longNamed(t *testing.T, name string) string {
	t.Helper()
	return strings.NewReplacer(
		`"sim-000`, `"compute-rack-17-unit-42-left.emea.example.com-000`, `"fake-000`, `"compute-rack-17-unit-42-left.emea.example.com-100`,
		`"conductor-`, `"conductor-of-rack-17.emea.example.com-`, `"outcome":"cancelled"`, `"outcome":"failed","cause":"credentials_denied","repeats":11,"repeats_since":"2026-11-18T20:06:22+00:00"`,
		`"outcome": "cancelled"`, `"outcome": "failed", "cause": "credentials_denied", "repeats": 11, "repeats_since": "2026-11-18T20:06:22+00:00"`,
	).Replace(string(answer(t, name)))
}

func TestTablesFitTheTerminal(t *testing.T) {
	clock = func() time.Time { return time.Date(2026, 11, 20, 20, 30, 0, 0, time.UTC) }
	t.Cleanup(func() { clock = time.Now })
	files := map[string]string{
		"/v1/nodes": "nodes", "/temper/v1/nodes/power": "node_powers", "/v1/nodes/sim-0001/history": "history", "/v1/ports": "ports", "/v1/drivers": "drivers",
		"/temper/v1/conductors": "fleet", "/temper/v1/operations": "operations", "/v1/nodes/sim-0001/validate": "validate",
	}
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("marker") { // there is one page of each
			_, _ = w.Write([]byte(`{"nodes":[],"operations":[],"ports":[],"conductors":[],"history":[]}`))
			return
		}
		name, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			name = "notfound"
		}
		_, _ = w.Write([]byte(longNamed(t, name)))
	})
	for file, command := range map[string]string{
		"node_list": "node list", "node_history": "node history sim-0001", "port_list": "port list", "driver_list": "driver list",
		"conductor_list": "conductor list", "operation_list": "operation list", "node_validate": "node validate sim-0001",
	} {
		t.Run(command, func(t *testing.T) {
			t.Setenv("COLUMNS", "80")
			got := ask(t, api, "", strings.Fields(command)...)
			require.NoError(t, got.failed)
			for line := range strings.Lines(got.out) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
			}
			path := filepath.Join("testdata", "80", file+".golden")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got.out), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.out)

			wide := ask(t, api, "", append(strings.Fields(command), "--wide")...)
			require.NoError(t, wide.failed)
			require.NotContains(t, wide.out, "…")
			t.Setenv("COLUMNS", "")
			require.NotContains(t, ask(t, api, "", strings.Fields(command)...).out, "…", "what is piped is whole")
		})
	}
	t.Setenv("COLUMNS", "80")
	got := ask(t, api, "", "operation", "list")
	require.Contains(t, got.out, "credentials_denied")
	require.Contains(t, got.out, "12 in 2d")
	require.NotContains(t, ask(t, goldenAPI(t), "", "operation", "list").out, "TIMES")
}
