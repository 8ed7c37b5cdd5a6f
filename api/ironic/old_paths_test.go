package ironic_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/api/ironic"
)

func TestOldPathsOfNodes(t *testing.T) {
	t.Parallel()
	for old, current := range map[string]string{
		"/v1/nodes/states/u":                           "/v1/nodes/u/states",
		"/v1/nodes/states/u/power":                     "/v1/nodes/u/states/power",
		"/v1/nodes/states/console/u":                   "/v1/nodes/u/states/console",
		"/v1/nodes/states/provision?node_ident=u":      "/v1/nodes/u/states/provision",
		"/v1/nodes/validate?node_uuid=u":               "/v1/nodes/u/validate",
		"/v1/nodes/validate?node=n1&x=1":               "/v1/nodes/n1/validate?x=1",
		"/v1/nodes/maintenance/u":                      "/v1/nodes/u/maintenance",
		"/v1/nodes/management/boot_device/u/supported": "/v1/nodes/u/management/boot_device/supported",
		"/v1/nodes/vendor_passthru/u?method=m":         "/v1/nodes/u/vendor_passthru?method=m",
		"/v1/nodes/validate":                           "/v1/nodes/validate",
		"/v1/nodes/u/states":                           "/v1/nodes/u/states",
		"/v1/nodes/detail":                             "/v1/nodes/detail",
		"/v1/ports/states":                             "/v1/ports/states",
		"/v1/nodes/states?node_ident=..%2Fdrivers":     "/v1/nodes/states?node_ident=..%2Fdrivers",
		"/temper/v1/nodes/states/u":                    "/temper/v1/nodes/states/u",
	} {
		u, err := url.Parse(old)
		require.NoError(t, err)
		require.Equal(t, current, ironic.CurrentURL(u).String(), old)
	}
	b := apitest.New(t).WithConductors()
	id := b.Enrolled("n1")
	send := func(method, path string) int {
		return b.Serve(httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)).Status
	}
	require.Equal(t, 200, send("GET", "/v1/nodes/states/"+id))
	require.Equal(t, 200, send("GET", "/nodes/validate?node_uuid="+id))
	require.Equal(t, 202, send("DELETE", "/v1/nodes/maintenance/"+id))
	require.Equal(t, 404, send("GET", "/v1/nodes/validate"))
}
