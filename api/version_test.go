package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

const (
	minVersion = "X-OpenStack-Ironic-API-Minimum-Version"
	common     = "OpenStack-API-Version"
)

func TestVersionNegotiation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	for name, c := range map[string]struct {
		header http.Header
		status int
		want   string
	}{
		"no header is 1.1":                        {http.Header{}, 200, "1.1"},
		"Ironic's header":                         {http.Header{canonical(apitest.VersionHeader): {"1.38"}}, 200, "1.38"},
		"latest":                                  {http.Header{canonical(apitest.VersionHeader): {"latest"}}, 200, "1.115"},
		"Latest in any case":                      {http.Header{canonical(apitest.VersionHeader): {"LATEST"}}, 200, "1.115"},
		"the newest":                              {http.Header{canonical(apitest.VersionHeader): {"1.115"}}, 200, "1.115"},
		"OpenStack's header":                      {http.Header{canonical(common): {"baremetal 1.50"}}, 200, "1.50"},
		"OpenStack's header is preferred":         {http.Header{canonical(common): {"baremetal 1.50"}, canonical(apitest.VersionHeader): {"1.2"}}, 200, "1.50"},
		"OpenStack's header for several services": {http.Header{canonical(common): {"compute 2.1, baremetal latest"}}, 200, "1.115"},
		"OpenStack's header for another service":  {http.Header{canonical(common): {"compute 2.1"}}, 200, "1.1"},
		"newer than served":                       {http.Header{canonical(apitest.VersionHeader): {"1.116"}}, 406, ""},
		"what python-ironicclient sends first":    {http.Header{canonical(apitest.VersionHeader): {"1.115"}}, 200, "1.115"},
		"older than served":                       {http.Header{canonical(apitest.VersionHeader): {"1.0"}}, 406, ""},
		"another major version":                   {http.Header{canonical(apitest.VersionHeader): {"2.1"}}, 406, ""},
		"no number":                               {http.Header{canonical(apitest.VersionHeader): {"banana"}}, 406, ""},
		"three numbers":                           {http.Header{canonical(apitest.VersionHeader): {"1.2.3"}}, 406, ""},
		"a number without a dot":                  {http.Header{canonical(apitest.VersionHeader): {"1"}}, 406, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			for _, path := range []string{"/v1", "/v1/nodes", "/v1/nosuch", "/nodes/"} {
				a := b.With(c.header, "GET", path, nil)
				require.Equal(t, "1.1", a.Header.Get(minVersion), path)
				require.Equal(t, "1.115", a.Header.Get(apitest.MaxVersionHeader), path)
				require.Equal(t, c.want, a.Header.Get(apitest.VersionHeader), path)
				if c.status == 406 {
					require.NotEmpty(t, a.Fails(406), path)
				} else {
					require.NotEqual(t, 406, a.Status, path)
				}
			}
		})
	}
	b.T = t
	require.Equal(t, "Version 1.116 was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.115].",
		b.At(116, "GET", "/v1/nodes", nil).Fails(406))
}

func canonical(h string) string { return http.CanonicalHeaderKey(h) }

func TestPathsAsIronicTakesThem(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	for _, path := range []string{"/v1/nodes/" + uuid, "/nodes/" + uuid, "/v1/nodes/" + uuid + "/", "/nodes/n1/", "/v1/nodes/n1.json", "/nodes/" + uuid + ".json"} {
		require.Equal(t, uuid, b.At(90, "GET", path, nil).Is(200)["uuid"], path)
	}
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n2.json"}).Is(201)
	require.Equal(t, "n2.json", b.At(90, "GET", "/v1/nodes/n2.json", nil).Is(200)["name"], "a name that ends so is found")
	require.Equal(t, "n2.json", b.At(91, "GET", "/v1/nodes/n2.json", nil).Is(200)["name"])
	require.Equal(t, "Node n1.json could not be found.", b.At(91, "GET", "/v1/nodes/n1.json", nil).Fails(404), "no suffix any more")
}

func TestEndpointsOfNewerVersionsAreNotThere(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	for path, first := range map[string]int{
		"/v1/nodes/n1/bios": 40, "/v1/nodes/n1/firmware": 86, "/v1/nodes/n1/history": 78, "/v1/conductors": 49, "/v1/conductors/c1": 49,
		"/v1/shards": 82, "/v1/nodes/n1/children": 83,
	} {
		b.At(first-1, "GET", path, nil).Fails(404)
		b.At(first, "GET", path, nil).Is(200)
	}
	b.At(80, "GET", "/v1/nodes/n1/inventory", nil).Fails(404)
	b.At(21, "GET", "/v1/lookup?addresses=52:54:00:00:00:01", nil).Fails(404)
	require.Equal(t, "The method is not allowed for this resource.", b.At(95, "POST", "/v1/inspection_rules", map[string]any{}).Fails(405))
	b.Post("/v1/inspection_rules", map[string]any{}).Fails(404)
	b.At(114, "GET", "/v1/inspection_rules", nil).Fails(404)
	b.At(53, "POST", "/v1/events", map[string]any{}).Fails(404)
	b.At(95, "PUT", "/v1/nodes", nil).Fails(405)
}
