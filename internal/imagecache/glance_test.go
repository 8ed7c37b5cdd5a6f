package imagecache

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// cloud is a Keystone with a Glance, which has one image.
func cloud(t *testing.T, image map[string]any, content []byte) (clouds Clouds, logins *atomic.Int64) {
	t.Helper()
	logins = &atomic.Int64{}
	answer := func(w http.ResponseWriter, v any) { require.NoError(t, json.NewEncoder(w).Encode(v)) }
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
		if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), "hunter2") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Subject-Token", fmt.Sprint("token", logins.Add(1)))
		w.WriteHeader(http.StatusCreated)
		answer(w, map[string]any{"token": map[string]any{"catalog": []any{map[string]any{"type": "image", "endpoints": []any{
			map[string]any{"interface": "public", "region": "r", "region_id": "r", "url": s.URL + "/image"},
		}}}}})
	})
	mux.HandleFunc("GET /image/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMultipleChoices)
		answer(w, map[string]any{"versions": []any{map[string]any{
			"id": "v2.16", "status": "CURRENT", "links": []any{map[string]any{"rel": "self", "href": s.URL + "/image/v2/"}},
		}}})
	})
	granted := func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.Header.Get("X-Auth-Token"), "token") {
			return true
		}
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	mux.HandleFunc("GET /image/v2/images/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !granted(w, r):
		case r.PathValue("id") != image["id"]:
			w.WriteHeader(http.StatusNotFound)
		default:
			answer(w, image)
		}
	})
	mux.HandleFunc("GET /image/v2/images/{id}/file", func(w http.ResponseWriter, r *http.Request) {
		if granted(w, r) {
			file(content)(w, r)
		}
	})
	clouds = Clouds{filepath.Join(t.TempDir(), "clouds.yaml"), "lab"}
	require.NoError(t, os.WriteFile(clouds.File, []byte(`clouds:
  lab:
    auth: {auth_url: "`+s.URL+`/v3", username: temper, password: hunter2, project_name: service, user_domain_name: Default, project_domain_name: Default}
    region_name: r
  wrong:
    auth: {auth_url: "`+s.URL+`/v3", username: temper, password: other, project_name: service, user_domain_name: Default, project_domain_name: Default}
`), 0o600))
	return clouds, logins
}

func TestAnImageOfGlance(t *testing.T) {
	const id = "0d2f3b3a-7d5c-4d5e-9c53-2f2d2c0b1a11"
	content := bytesOf(1 << 16)
	sum := sha512.Sum512(content)
	image := map[string]any{
		"id": id, "status": "active", "disk_format": "raw", "size": len(content),
		"os_hash_algo": "sha512", "os_hash_value": hex.EncodeToString(sum[:]),
	}
	clouds, logins := cloud(t, image, content)
	c := opened(t, Config{Clouds: clouds})
	for _, source := range []string{id, "glance://" + id} {
		got, err := read(t, c, imageAt(t, source, nil))
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	require.EqualValues(t, 1, logins.Load())
	_, err := read(t, c, imageAt(t, "1d2f3b3a-7d5c-4d5e-9c53-2f2d2c0b1a11", nil))
	require.ErrorContains(t, err, "404")

	image["size"] = len(content) + 1
	_, err = read(t, opened(t, Config{Clouds: clouds}), imageAt(t, id, nil))
	require.ErrorContains(t, err, "the image has 65536 bytes, and its source says 65537")
	require.Equal(t, fault.ImageInvalid, fault.CodeOf(err))
	image["status"] = "queued"
	_, err = read(t, opened(t, Config{Clouds: clouds}), imageAt(t, id, nil))
	require.ErrorContains(t, err, "queued")
	for name, words := range map[string]string{"wrong": "the server answered 401", "none": "no such cloud"} {
		clouds.Name = name
		_, err = read(t, opened(t, Config{Clouds: clouds}), imageAt(t, id, nil))
		require.ErrorContains(t, err, words)
		require.NotContains(t, err.Error(), "other")
	}
	_, err = read(t, opened(t, Config{}), imageAt(t, id, nil))
	require.ErrorContains(t, err, "clouds_file")
}
