package api_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/bootimage"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/medium/mediumtest"
	"go.temper.dev/temper/internal/node"
)

const bootToken = "Zm9yLXRlc3RzLW9ubHktMzItY2hhcmFjdGVycw"

// booting returns an API with a node that boots from a medium, and the medium's path.
func booting(t *testing.T) (b *apitest.Bench, uuid, path string) {
	t.Helper()
	ramdisk, err := api.OpenRamdisk(api.RamdiskFiles{Image: mediumtest.Image(t, ""), Others: bootimage.Config{Dir: t.TempDir(), Limit: 1 << 30, Reach: dial.Reach{Loopback: true}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ramdisk.Close()) })
	b = apitest.New(t, func(c *api.Config) { c.Ramdisk = ramdisk })
	b.WithConductors()
	uuid = b.WaitingWithPort("n1")
	b.SQL(`DELETE FROM agents`)
	b.SQL(`UPDATE operations SET phase = 'running', claim_seq = 1, claim_attempt = 1`)
	token, err := b.Store.BeginBoot(t.Context(), b.LastOperation(uuid).ID, node.Claim{Seq: 1, Attempt: 1}, &node.BootMedium{
		Medium: node.Medium{APIURLs: []string{"http://api:6385"}, Append: "nofb", NetworkData: map[string]any{"links": []any{}}},
		Token:  bootToken, KeyHash: func(token string) []byte { return medium.Hash(medium.Key(token)) },
	})
	require.NoError(t, err)
	require.Equal(t, bootToken, token)
	return b, uuid, medium.URL("", medium.Key(token))
}

func TestBMCsReadAMediumWholeAndInRangesFromAnyProcess(t *testing.T) {
	t.Parallel()
	b, uuid, path := booting(t)
	read := func(method string, more http.Header) (*http.Response, []byte) {
		srv := httptest.NewServer(b.Handler)
		defer srv.Close()
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
		require.NoError(t, err)
		maps.Copy(r.Header, more)
		res, err := srv.Client().Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res, body
	}
	res, whole := read(http.MethodGet, nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, int64(len(whole)), res.ContentLength)
	require.Equal(t, "application/x-iso9660-image", res.Header.Get("Content-Type"))
	require.Contains(t, mediumtest.File(t, whole, "parameters.txt"), "ipa-node-uuid="+uuid+"\nipa-agent-token="+bootToken)
	require.JSONEq(t, `{"links": []}`, mediumtest.File(t, whole, "openstack/latest/network_data.json"))

	head, empty := read(http.MethodHead, nil)
	require.Equal(t, http.StatusOK, head.StatusCode)
	require.Equal(t, int64(len(whole)), head.ContentLength)
	require.Empty(t, empty)

	part, bytes := read(http.MethodGet, http.Header{"Range": {"bytes=32769-40000"}, "If-Range": {res.Header.Get("ETag")}})
	require.Equal(t, http.StatusPartialContent, part.StatusCode)
	require.Equal(t, whole[32769:40001], bytes)
	none, _ := read(http.MethodGet, http.Header{"Range": {fmt.Sprintf("bytes=%d-", len(whole))}})
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, none.StatusCode)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		assert.Equal(t, strconv.Itoa(len(whole)+len(bytes)), b.Text(`SELECT medium_read_bytes::text FROM agents`))
	}, 10*time.Second, 50*time.Millisecond)
}

func TestAMediumIsThereForItsBootOnly(t *testing.T) {
	t.Parallel()
	b, uuid, path := booting(t)
	b.With(nil, http.MethodHead, path, nil).Is(http.StatusOK)
	for _, other := range []string{medium.URL("", medium.Key("another token")), "/boot/x/y.iso", medium.PathPrefix + uuid + "/a.iso"} {
		b.Get(other).Fails(http.StatusNotFound)
	}
	without := b.Another()
	without.Get(path).Fails(http.StatusNotFound)

	// The agent of the boot gets no token from a lookup: its medium has it.
	b.SQL(`UPDATE operations SET phase = 'waiting'`)
	token, _ := b.At(62, http.MethodGet, "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	require.Equal(t, "******", token)
	b.At(68, http.MethodPost, "/v1/heartbeat/"+uuid, apitest.Heartbeat(bootToken)).Is(http.StatusAccepted)

	b.SQL(`UPDATE operations SET phase = 'ended', ended_at = now(), outcome = 'succeeded'`)
	b.Get(path).Fails(http.StatusNotFound)
}

// A medium of another kernel and ramdisk is made when it is read first, and says to who has its key why it can't be made.
func TestAMediumOfAnotherKernelIsMadeOfItsFiles(t *testing.T) {
	t.Parallel()
	kernel := append(make([]byte, 0x202), "HdrS and more"...)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/vmlinuz", "/initrd":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(kernel))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(files.Close)
	b, _, path := booting(t)
	of := func(kernel string) *apitest.Bench {
		b.SQL(`UPDATE media SET contents = contents || jsonb_build_object('kernel', '` + files.URL + kernel + `', 'initrd', '` + files.URL + `/initrd')`)
		b.Get(path)
		return b
	}
	require.Contains(t, of("/none").Last.Fails(500), "ask for the kernel "+files.URL+"/none: the server answered 404")
	of("/vmlinuz")
	require.Equal(t, 200, b.Last.Status)
	require.Contains(t, mediumtest.File(t, b.Last.Body, "boot/grub/grub.cfg"), "ipa-agent-token="+bootToken)
	require.Contains(t, mediumtest.File(t, b.Last.Body, "vmlinuz"), "HdrS and more")
}
