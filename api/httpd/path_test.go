package httpd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/access"
)

var someResources = []string{"nodes", "ports"}

func tidied(path string) (out string) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL.Path = path
	tidyPath(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { out = r.URL.Path }), someResources, nil).ServeHTTP(httptest.NewRecorder(), r)
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

// Only paths of the API are rewritten, whatever path a client sends.
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

func TestOpenRoutesAreOpenBelowTheirParameters(t *testing.T) {
	page := func(*gin.Context) (int, any, error) { return http.StatusOK, gin.H{}, nil }
	s, err := New(Config{}, []Route{
		Get("/ui/*path", 0, page).Open(), Get("/v1/heartbeat/:node", 1, page).Open(), Get("/v1/drivers/*rest", 1, page).Needs(access.FleetGet), Get("/v1", 1, page).Open(),
	})
	require.NoError(t, err)
	for path, open := range map[string]bool{
		"/ui/": true, "/ui/app.css": true, "/ui/a/b": true, "/uix": false, "/v1": true, "/v1/nodes": false,
		"/v1/heartbeat/n1": true, "/v1/drivers/x": false,
	} {
		require.Equal(t, open, s.isOpen(path), path)
	}
}
