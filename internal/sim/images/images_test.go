package images_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/images"
)

func get(t *testing.T, s *images.Server, method, path string, header ...string) (*http.Response, []byte) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	return w.Result(), b
}

func TestTheDiskImageFollowsFromTheSeed(t *testing.T) {
	a, b, c := images.New(1, 1<<20), images.New(1, 1<<20), images.New(2, 1<<20)
	require.Equal(t, a.SHA256(images.Disk), b.SHA256(images.Disk))
	require.NotEqual(t, a.SHA256(images.Disk), c.SHA256(images.Disk))
}

func TestFilesAreServedWholeInPartsAndByHead(t *testing.T) {
	s := images.New(1, 1<<20)
	res, whole := get(t, s, http.MethodGet, "/disk.raw")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Len(t, whole, 1<<20)
	require.Equal(t, []byte{0x55, 0xaa}, whole[510:512])

	res, part := get(t, s, http.MethodGet, "/disk.raw", "Range", "bytes=1000-1999")
	require.Equal(t, http.StatusPartialContent, res.StatusCode)
	require.Equal(t, whole[1000:2000], part)

	res, none := get(t, s, http.MethodHead, "/disk.raw")
	require.EqualValues(t, 1<<20, res.ContentLength)
	require.Empty(t, none)

	_, iso := get(t, s, http.MethodGet, "/deploy.iso")
	require.Equal(t, "CD001", string(iso[0x8001:0x8006]))
	res, _ = get(t, s, http.MethodGet, "/nothing")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
}

func TestChecksumFilesNameWhatIsServed(t *testing.T) {
	s := images.New(1, 1<<20)
	_, one := get(t, s, http.MethodGet, "/disk.raw.sha256")
	require.Equal(t, s.SHA256("disk.raw")+"  disk.raw\n", string(one))
	_, all := get(t, s, http.MethodGet, "/SHA256SUMS")
	require.Contains(t, string(all), string(one))
	_, index := get(t, s, http.MethodGet, "/")
	require.Contains(t, string(index), "disk.raw\n")
}
