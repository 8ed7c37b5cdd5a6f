package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNoVendorInterfaceHasAMethod(t *testing.T) {
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	for _, path := range []string{"/v1/nodes/n1/vendor_passthru", "/v1/drivers/redfish/vendor_passthru"} {
		require.Empty(t, b.Get(path+"/methods").Is(200))
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			var body any
			if method != "GET" && method != "DELETE" {
				body = map[string]any{"warm": true}
			}
			require.Equal(t, "No handler for method bmc_reset", b.At(apitest.Newest, method, path+"?method=bmc_reset", body).Fails(400), method)
			require.Equal(t, "Method not specified", b.At(apitest.Newest, method, path, body).Fails(400), method)
		}
	}
	b.Get("/v1/nodes/n2/vendor_passthru/methods").Fails(404)
	b.Get("/v1/drivers/abacus/vendor_passthru/methods").Fails(404)
	b.Put("/v1/drivers/abacus/vendor_passthru?method=m", map[string]any{}).Fails(404)
}
