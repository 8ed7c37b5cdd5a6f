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
	"go.temper.dev/temper/internal/access"
)

// TestWhatALogInCosts measures a GET of a node for those who log in and those who don't. Its figures are in the log; timings prove nothing
// on a busy machine.
func TestWhatALogInCosts(t *testing.T) {
	if os.Getenv("TEMPER_TEST_BENCH") == "" {
		t.Skip("TEMPER_TEST_BENCH=1 measures")
	}
	file := filepath.Join(t.TempDir(), "htpasswd")
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("alice:"+string(hash)+"\n"), 0o600))
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	b.SQL(`UPDATE nodes SET owner = 'p'`)
	basic := b.Another(func(c *api.Config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} })
	trusted := b.Another(apitest.WithIdentities)
	measure := func(b *apitest.Bench, set func(http.Header)) testing.BenchmarkResult {
		return testing.Benchmark(func(bench *testing.B) {
			for bench.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/v1/nodes/"+uuid, nil)
				r.Header.Set(apitest.VersionHeader, "1.114")
				set(r.Header)
				w := httptest.NewRecorder()
				b.Handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					bench.Fatal(w.Code, w.Body)
				}
			}
		})
	}
	as := func(role access.Role, project string) func(http.Header) {
		return func(h http.Header) {
			h.Set(apitest.RolesHeader, string(role))
			h.Set(apitest.ProjectHeader, project)
			if project == "" {
				h.Set(apitest.ScopeHeader, "all")
			}
		}
	}
	for range 3 {
		t.Logf("noauth             %v", measure(b, func(http.Header) {}))
		t.Logf("http_basic         %v", measure(basic, func(h http.Header) { h.Set("Authorization", "Basic YWxpY2U6cmlnaHQ=") }))
		t.Logf("reader             %v", measure(trusted, as(access.Reader, "")))
		t.Logf("reader of a project %v", measure(trusted, as(access.Reader, "p")))
	}
}
