package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	root := b.With(nil, "GET", "/", nil).Is(200)
	version := root["default_version"].(map[string]any)
	require.Equal(t, "v1", version["id"])
	require.Equal(t, "1.1", version["min_version"])
	require.Equal(t, "1.115", version["version"])
	require.Equal(t, "CURRENT", version["status"])
	require.Equal(t, []any{version}, root["versions"])
	require.Equal(t, "1.115", b.Last.Header.Get(apitest.MaxVersionHeader), "also where nothing is negotiated")

	for minor, want := range map[int][]string{
		1:   {"nodes", "ports", "drivers"},
		22:  {"nodes", "ports", "drivers", "lookup", "heartbeat"},
		115: {"nodes", "ports", "drivers", "lookup", "heartbeat", "conductors", "continue_inspection"},
	} {
		doc := b.At(minor, "GET", "/v1/", nil).Is(200)
		require.Equal(t, version, doc["version"], "gophercloud reads it")
		var have []string
		for _, r := range []string{"nodes", "ports", "drivers", "lookup", "heartbeat", "conductors", "continue_inspection"} {
			if doc[r] != nil {
				have = append(have, r)
			}
		}
		require.Equal(t, want, have, "1.%d", minor)
	}
}
