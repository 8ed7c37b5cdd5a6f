package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/imagecache"
	"go.temper.dev/temper/internal/node"
)

// The agent of an operation gets the image of its node, whole or in ranges. Nobody else does.
func TestAnAgentReadsTheImageOfItsNode(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("disk", 1<<16)
	sum := sha256.Sum256([]byte(content))
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	}))
	defer origin.Close()
	policy := image.Policy{Reach: dial.Reach{Loopback: true}}
	cache, err := imagecache.Open(imagecache.Config{Dir: t.TempDir(), Limit: 1 << 30, Age: time.Hour, Policy: policy, Log: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cache.Close()) })
	b := apitest.New(t, func(c *api.Config) { c.ImageCache, c.Images = cache, policy })
	b.WithConductors()
	uuid := b.WaitingWithPort("n1")
	b.MoveTo(uuid, node.Enroll)
	b.SQL(`DELETE FROM operations`)
	of := map[string]any{
		"image_source": origin.URL + "/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": hex.EncodeToString(sum[:]),
		"image_download_source": "local", "image_request_authorization_secret": "Bearer right",
	}
	b.Patch("/v1/nodes/"+uuid, apitest.Op{"op": "add", "path": "/instance_info", "value": of}).Is(200)
	b.MoveTo(uuid, node.DeployWait)
	token, _ := b.Get("/v1/lookup?addresses=" + apitest.MAC).Lookup()
	require.NotEmpty(t, token)
	// The key opens the door, whatever the networks of agents: a conductor asks, too.
	door := api.Door{For: api.Agents | api.BMCs, Agents: []netip.Prefix{netip.MustParsePrefix("10.7.0.0/16")}}
	srv := httptest.NewServer(b.Server.Through(door))
	defer srv.Close()
	read := func(url, part string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Header.Set("Range", part)
		res, err := srv.Client().Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res, string(b)
	}
	at := image.Info{NodeUUID: uuid, Source: origin.URL + "/disk.raw"}.ServedURL(srv.URL, token)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		res, got := read(at, "")
		assert.Equal(t, http.StatusOK, res.StatusCode)
		assert.Equal(t, content, got)
		_, want := image.Digest(hex.EncodeToString(sum[:]))
		assert.Equal(t, want, res.Header.Get("Repr-Digest"))
	}, 20*time.Second, 50*time.Millisecond)
	res, part := read(at, "bytes=4-7")
	require.Equal(t, http.StatusPartialContent, res.StatusCode)
	require.Equal(t, content[4:8], part)

	key := image.ServedKey(token)
	for name, url := range map[string]string{
		"another key":        strings.Replace(at, key, image.ServedKey("another"), 1),
		"no key":             strings.Replace(at, key, "k", 1),
		"another node":       strings.Replace(at, uuid, "6f9d9f3a-50a1-4f62-8f3a-1f6b2a4b7c11", 1),
		"the name of a node": strings.Replace(at, uuid, "n1", 1),
	} {
		res, _ := read(url, "")
		require.Equal(t, http.StatusNotFound, res.StatusCode, name)
	}
	b.SQL(`UPDATE nodes SET instance_info = instance_info || jsonb_build_object('image_os_hash_value', $1::text)`, strings.Repeat("ab", 32))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		res, got := read(at, "")
		assert.Equal(t, http.StatusBadGateway, res.StatusCode)
		assert.Contains(t, got, "image_digest_differs")
	}, 20*time.Second, 50*time.Millisecond)
	b.SQL(`DELETE FROM operations`)
	res, _ = read(at, "")
	require.Equal(t, http.StatusNotFound, res.StatusCode, "the operation is over")
}
