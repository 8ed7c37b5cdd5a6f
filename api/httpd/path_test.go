package httpd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var someResources = []string{"nodes", "ports"}

func tidied(path string) (out string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL.Path = path
	tidyPath(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { out = r.URL.Path }), someResources).ServeHTTP(httptest.NewRecorder(), r)
	return out
}

func TestPathsAreTidiedAsIronicDoes(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/v1": "/v1", "/v1/": "/v1", "/v1/nodes/": "/v1/nodes", "/v1/nodes/a.json": "/v1/nodes/a",
		"/nodes": "/v1/nodes", "/nodes/": "/v1/nodes", "/nodes.json": "/v1/nodes", "/nodes/a/states": "/v1/nodes/a/states",
		"/temper/v1/ring/": "/temper/v1/ring", "/temper/v1/a.json": "/temper/v1/a.json",
		"/ui/": "/ui/", "/ui/a.json": "/ui/a.json", "/nodesque": "/nodesque", "/favicon.ico": "/favicon.ico", "//": "//", "*": "/*",
	} {
		require.Equal(t, want, tidied(path), path)
	}
}

// Whatever path a client asks for, it is changed only where it is one of the API's.
func FuzzTidyPath(f *testing.F) {
	for _, s := range []string{"/", "/v1", "/v1/", "/nodes", "/nodes/", "//", "/v1/nodes/a.json", "/temper/v1/operations", "/.json", "/v1/.json", "*", "0", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tidy := tidied(path)
		if first, _, _ := strings.Cut(strings.TrimPrefix(tidy, "/"), "/"); first != "v1" && first != "temper" {
			require.Equal(t, "/"+strings.TrimPrefix(path, "/"), "/"+strings.TrimPrefix(tidy, "/"))
		}
	})
}
