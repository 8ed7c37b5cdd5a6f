package imagecache

import (
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

// stocked is a registry, and what pushes to it. before is called with each request, and may answer it; it may be nil.
func stocked(t *testing.T, before func(w http.ResponseWriter, r *http.Request) bool) (host string, push func(tag string, what remote.Taggable) string) {
	t.Helper()
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil && before(w, r) {
			return
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	host = strings.TrimPrefix(s.URL, "http://")
	inside := httptest.NewServer(store)
	t.Cleanup(inside.Close)
	return host, func(tag string, what remote.Taggable) string {
		ref, err := name.ParseReference(strings.TrimPrefix(inside.URL, "http://") + "/images/disk:" + tag)
		require.NoError(t, err)
		switch what := what.(type) {
		case v1.Image:
			require.NoError(t, remote.Write(ref, what))
		case v1.ImageIndex:
			require.NoError(t, remote.WriteIndex(ref, what))
		}
		return "oci://" + host + "/images/disk:" + tag
	}
}

func artifact(t *testing.T, kind types.MediaType, layers ...[]byte) v1.Image {
	t.Helper()
	out := empty.Image
	for _, l := range layers {
		var err error
		out, err = mutate.AppendLayers(out, static.NewLayer(l, kind))
		require.NoError(t, err)
	}
	return out
}

const rawDisk = types.MediaType("application/vnd.example.disk.raw")

func TestAnArtifactOfARegistry(t *testing.T) {
	content, ranges := bytesOf(1<<20), []string{}
	var down atomic.Bool
	host, push := stocked(t, func(w http.ResponseWriter, r *http.Request) bool {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) == 1 {
			file(content)(&cut{ResponseWriter: w, left: 100_000}, r)
		} else {
			file(content)(w, r)
		}
		return true
	})
	disk := artifact(t, rawDisk, content)
	tag := push("1", disk)
	c := opened(t, Config{})
	got, err := read(t, c, imageAt(t, tag, nil))
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.Equal(t, []string{"", "bytes=100000-"}, ranges)

	now := time.Now().Add(describedFor)
	c.now = func() time.Time { return now }
	down.Store(true)
	got, err = read(t, c, imageAt(t, tag, nil))
	require.NoError(t, err, "what is kept is served although the registry is away")
	require.Equal(t, content, got)
	down.Store(false)

	digest, err := disk.Digest()
	require.NoError(t, err)
	_, err = read(t, c, imageAt(t, "oci://"+host+"/images/disk@"+digest.String(), nil))
	require.NoError(t, err)
	_, err = read(t, c, imageAt(t, tag, []byte("another")))
	require.Equal(t, fault.ImageDigestDiffers, fault.CodeOf(err), "that of instance_info counts")
}

func TestAnIndexOfARegistry(t *testing.T) {
	raw, qcow2 := bytesOf(1024), bytesOf(2048)
	amd, arm := &v1.Platform{OS: "linux", Architecture: "amd64"}, &v1.Platform{OS: "linux", Architecture: "arm64"}
	of := func(content []byte, format string, p *v1.Platform) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: artifact(t, rawDisk, content), Descriptor: v1.Descriptor{Platform: p, Annotations: map[string]string{diskType: format}}}
	}
	_, push := stocked(t, nil)
	c := opened(t, Config{})
	both := push("both", mutate.AppendManifests(empty.Index, of(bytesOf(16), "raw", arm), of(qcow2, "qcow2", amd), of(raw, "raw", amd)))
	got, err := read(t, c, imageAt(t, both, nil))
	require.NoError(t, err)
	require.Equal(t, raw, got)
	one := push("one", mutate.AppendManifests(empty.Index, of(bytesOf(16), "vhd", amd), of(qcow2, "qcow2", amd)))
	i, err := c.describe(t.Context(), imageAt(t, one, nil))
	require.NoError(t, err)
	require.Equal(t, agent.FormatQCOW2, i.Format)
	other := push("other", mutate.AppendManifests(empty.Index, of(raw, "raw", arm)))
	_, err = read(t, c, imageAt(t, other, nil))
	require.ErrorContains(t, err, "the index has no manifest for amd64")
}

func TestAnArtifactThatIsNoDisk(t *testing.T) {
	_, push := stocked(t, nil)
	c := opened(t, Config{})
	for words, i := range map[string]v1.Image{
		"2 layers":              artifact(t, rawDisk, bytesOf(16), bytesOf(32)),
		"is a container's imag": artifact(t, types.OCILayer, bytesOf(16)),
	} {
		_, err := read(t, c, imageAt(t, push(strings.Fields(words)[0], i), nil))
		require.ErrorContains(t, err, words)
		require.Equal(t, fault.ImageInvalid, fault.CodeOf(err))
	}
	named, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer: static.NewLayer(bytesOf(64), types.OCIUncompressedLayer), Annotations: map[string]string{fileName: "disk.raw"},
	})
	require.NoError(t, err)
	got, err := read(t, c, imageAt(t, push("named", named), nil))
	require.NoError(t, err, "oras pushes files so")
	require.Equal(t, bytesOf(64), got)
	_, err = read(t, c, imageAt(t, push("x", artifact(t, rawDisk, bytesOf(16)))+"-none", nil))
	require.ErrorContains(t, err, "the server answered 404")
}

// A registry with a login gets the pull secret, and the storage to which it redirects does not.
func TestAPullSecretGoesToTheRegistryOnly(t *testing.T) {
	content := bytesOf(1024)
	storage := serves(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		file(content)(w, r)
	})
	_, push := stocked(t, func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		switch {
		case user != "ann" || password != "hunter2":
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/"):
			http.Redirect(w, r, strings.Replace(storage.URL, "127.0.0.1", "localhost", 1)+"/blob", http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
	c := opened(t, Config{})
	at := push("1", artifact(t, rawDisk, content))
	for secret, right := range map[string]bool{"ann:hunter2": true, "ann:wrong": false, "": false} {
		i := imageAt(t, at, nil, "image_pull_secret", base64.StdEncoding.EncodeToString([]byte(secret)))
		got, err := read(t, c, i)
		if right {
			require.NoError(t, err)
			require.Equal(t, content, got)
			continue
		}
		require.ErrorContains(t, err, "the server answered 401")
		require.NotContains(t, err.Error(), "wrong")
	}
}
