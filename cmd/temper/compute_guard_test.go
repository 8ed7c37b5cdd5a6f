package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/internal/config"
)

func TestAComputeServiceLetsInWhoMayComeIn(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("nova:"+string(hash)+"\n"), 0o600))
	claims := 0
	service := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { claims++ })
	ask := func(h http.Handler, host string, change func(*http.Request)) int {
		r := httptest.NewRequest("POST", "/claims", strings.NewReader(`{"node_uuid":"a","instance_uuid":"b"}`))
		r.Host = host
		change(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	nobody := func(*http.Request) {}
	page := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }

	alone, err := guarded(&config.Compute{Listen: "127.0.0.1:0"}, service, zap.NewNop())
	require.NoError(t, err)
	require.Equal(t, 200, ask(alone, "127.0.0.1:7", nobody))
	require.Equal(t, 403, ask(alone, "127.0.0.1:7", page))
	require.Equal(t, 421, ask(alone, "evil.example:7", nobody))

	named, err := guarded(&config.Compute{Listen: ":7000", Auth: config.ListenerAuth{Strategy: config.HTTPBasic, HtpasswdFile: file}}, service, zap.NewNop())
	require.NoError(t, err)
	require.Equal(t, 401, ask(named, "compute.example", nobody))
	require.Equal(t, 401, ask(named, "compute.example", func(r *http.Request) { r.SetBasicAuth("nova", "x") }))
	require.Equal(t, 200, ask(named, "compute.example", func(r *http.Request) { r.SetBasicAuth("nova", "open sesame") }))
	require.Equal(t, 2, claims)
}
