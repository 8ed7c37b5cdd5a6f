package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

// BenchmarkListNodes measures a list of a thousand nodes in detail, without the connection to a client.
func BenchmarkListNodes(b *testing.B) {
	of := apitest.New(b).WithConductors()
	of.SQL(`INSERT INTO nodes (uuid, name, driver, provision_state, power_state, resource_class, interfaces, driver_info, properties, extra, traits)
		SELECT gen_random_uuid(), 'bench-' || i, 'fake-hardware', 'available', 'power off', 'gold', '{"power": "fake", "boot": "fake", "deploy": "fake"}',
			'{"redfish_address": "https://10.0.0.1", "redfish_username": "admin"}', '{"cpus": 64, "memory_mb": 262144, "cpu_arch": "x86_64"}',
			jsonb_build_object('unit', i), '{CUSTOM_GOLD}'
		FROM generate_series(1, 1000) AS i`)
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/v1/nodes/detail", nil)
		r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
		w := httptest.NewRecorder()
		of.Handler.ServeHTTP(w, r)
		require.Equal(b, http.StatusOK, w.Code)
		b.SetBytes(int64(w.Body.Len()))
	}
}
