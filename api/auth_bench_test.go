package api_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

// BenchmarkGetNode measures a GET of a node for clients who log in and for those who don't. A log-in should cost at most a twentieth more.
func BenchmarkGetNode(b *testing.B) {
	file := filepath.Join(b.TempDir(), "htpasswd")
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(file, []byte("alice:"+string(hash)+"\n"), 0o600))
	open := apitest.New(b).WithConductors()
	uuid := open.Enrolled("n1")
	open.SQL(`UPDATE nodes SET owner = 'p'`)
	basic := open.Another(func(c *api.Config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} })
	trusting := open.Another(apitest.WithIdentities)
	measure := func(name string, of *apitest.Bench, headers http.Header) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/v1/nodes/"+uuid, nil)
				r.Header = headers
				w := httptest.NewRecorder()
				of.Handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
	measure("noauth", open, http.Header{})
	measure("http_basic", basic, http.Header{"Authorization": {"Basic YWxpY2U6cmlnaHQ="}})
	measure("reader of the system", trusting, http.Header{apitest.RolesHeader: {"reader"}, apitest.ScopeHeader: {"all"}})
	measure("reader of a project", trusting, http.Header{apitest.RolesHeader: {"reader"}, apitest.ProjectHeader: {"p"}})
}
