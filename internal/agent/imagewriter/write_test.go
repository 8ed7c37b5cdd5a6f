//go:build linux

package imagewriter_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/agent/imagewriter"
	"go.temper.dev/temper/internal/qcow2/qcow2test"
)

const mib = 1 << 20

// raw returns the content of a disk of 5 MiB and a little: noise, and a long run of zeros.
func raw() []byte {
	b := make([]byte, 5*mib+512)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b[:mib+100])
	_, _ = rng.Read(b[4*mib+3:])
	return b
}

// disk returns the path of a file of n bytes that has something old everywhere.
func disk(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("old!"), n/4), 0o600))
	return path
}

// serve serves bytes at a URL that is returned with their digest.
func serve(t *testing.T, b []byte) imagewriter.Image {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	sum := sha256.Sum256(b)
	return imagewriter.Image{ID: "image", URLs: []string{s.URL + "/disk.img?signature=SECRET"}, Algorithm: "sha256", Digest: hex.EncodeToString(sum[:])}
}

func write(t *testing.T, i imagewriter.Image, path string) error {
	t.Helper()
	d, err := imagewriter.Open(path)
	require.NoError(t, err)
	w := imagewriter.Writer{Client: http.DefaultClient, Scratch: t.TempDir()}
	err = w.Write(t.Context(), i, d)
	require.NoError(t, d.Close())
	return err
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func packed(t *testing.T, make func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := make(&out)
	require.NoError(t, err)
	_, err = z.Write(raw())
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

func TestAnImageOfEachFormatIsOnTheDisk(t *testing.T) {
	for name, c := range map[string]struct {
		bytes  []byte
		format string
	}{
		"raw":                            {raw(), "raw"},
		"gzip of raw":                    {packed(t, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }), "raw"},
		"xz of raw":                      {packed(t, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }), "raw"},
		"zstd of raw":                    {packed(t, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }), ""},
		"qcow2, version 2":               {qcow2test.Image(t, 2, raw(), false), "qcow2"},
		"qcow2, version 3":               {qcow2test.Image(t, 3, raw(), false), ""},
		"qcow2 with compressed clusters": {qcow2test.Image(t, 3, raw(), true), "qcow2"},
	} {
		t.Run(name, func(t *testing.T) {
			path := disk(t, 24*mib)
			i := serve(t, c.bytes)
			i.Format = c.format
			require.NoError(t, write(t, i, path))
			got := content(t, path)
			require.True(t, bytes.Equal(raw(), got[:len(raw())]), "the content differs")
			require.Zero(t, bytes.Count(got[len(got)-4*mib:], []byte("old!")), "signatures at the end")
			require.Zero(t, bytes.Count(got, []byte("QFI\xfb")), "nothing of the file is left behind its content")
		})
	}
}

func TestRunsOfZerosTakeNoRoom(t *testing.T) {
	path := disk(t, 24*mib)
	require.NoError(t, write(t, serve(t, raw()), path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	used := info.Sys().(*syscall.Stat_t).Blocks * 512 //nolint:forcetypeassert // it is one, on Linux
	require.Less(t, used, int64(24*mib-6*mib), "4 MiB at the end and 3 MiB in the image are holes")
}

// A file that finds no room behind its content is stored in the scratch folder.
func TestAQCOW2ImageThatFillsTheDisk(t *testing.T) {
	path := disk(t, 6*mib)
	i := serve(t, qcow2test.Image(t, 3, raw(), false))
	require.NoError(t, write(t, i, path))
	require.True(t, bytes.Equal(raw(), content(t, path)[:len(raw())]))

	d, err := imagewriter.Open(path)
	require.NoError(t, err)
	err = (&imagewriter.Writer{Client: http.DefaultClient}).Write(t.Context(), i, d)
	require.ErrorContains(t, err, "not enough space")
	require.NoError(t, d.Close())
	require.True(t, bytes.Equal(raw(), content(t, path)[:len(raw())]), "nothing was written")
}

// What the beginning of an image shows is refused before anything is written.
func TestWhatIsRefusedLeavesTheDiskAsItWas(t *testing.T) {
	with := func(at int, b ...byte) []byte {
		img := qcow2test.Image(t, 3, raw(), false)
		copy(img[at:], b)
		return img
	}
	for name, c := range map[string]struct {
		bytes  []byte
		format string
		words  string
	}{
		"a backing file":         {with(15, 1), "qcow2", "backing file"},
		"a data file":            {with(79, 4), "qcow2", "in another file"},
		"an encrypted image":     {with(35, 2), "qcow2", "encrypted"},
		"a corrupt image":        {with(79, 2), "qcow2", "corrupt"},
		"extended L2 entries":    {with(79, 16), "qcow2", "extended L2"},
		"clusters that are huge": {with(20, 0xff), "qcow2", "clusters"},
		"tables that are huge":   {with(36, 0xff), "qcow2", "tables"},
		"tables that are short":  {with(24, 0, 0, 0xff), "qcow2", "tables"},
		"larger than the disk":   {with(28, 1, 0xff), "qcow2", "too small for"},
		"qcow2 as raw":           {with(0), "raw", "Expected format was raw, but image was actually qcow2"},
		"raw as qcow2":           {raw(), "qcow2", "Expected format was qcow2, but image was actually raw"},
		"vmdk":                   {append([]byte("KDMV"), make([]byte, 40<<10)...), "", "Detected image format was vmdk"},
		"raw beyond the disk":    {make([]byte, 25*mib), "raw", "too small for"},
		"a compressed qcow2":     {gzipped(t, qcow2test.Image(t, 3, raw(), false)), "qcow2", "compressed qcow2"},
		"gzip of a vhd":          {gzipped(t, append([]byte("conectix"), make([]byte, 40<<10)...)), "raw", "actually vhd"},
	} {
		t.Run(name, func(t *testing.T) {
			path := disk(t, 24*mib)
			before := content(t, path)
			i := serve(t, c.bytes)
			i.Format = c.format
			require.ErrorContains(t, write(t, i, path), c.words)
			require.True(t, bytes.Equal(before, content(t, path)))
		})
	}
	path := disk(t, 24*mib)
	before := content(t, path)
	i := serve(t, raw())
	i.Digest = "abc"
	require.ErrorContains(t, write(t, i, path), "no digest")
	i.URLs = []string{i.URLs[0], "http://127.0.0.1:1/none?key=SECRET"}
	i.Digest = hex.EncodeToString(make([]byte, 32))
	i.URLs = i.URLs[1:]
	err := write(t, i, path)
	require.ErrorContains(t, err, "Download of image image failed")
	require.NotContains(t, err.Error(), "SECRET")
	require.True(t, bytes.Equal(before, content(t, path)))
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

// An image that is not what it should be is found out when it is on the disk. Nothing must boot from it.
func TestAfterAFailureTheDiskHasNoBeginning(t *testing.T) {
	wrong := serve(t, raw())
	wrong.Digest = hex.EncodeToString(make([]byte, 32))
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(raw())))
		_, _ = w.Write(raw()[:2*mib])
	}))
	t.Cleanup(cut.Close)
	short := wrong
	short.URLs = []string{cut.URL}
	z := packed(t, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	broken := serve(t, z[:len(z)-20])
	long := serve(t, gzipped(t, make([]byte, 25*mib)))
	for name, c := range map[string]struct {
		image imagewriter.Image
		cause string
	}{
		"another digest": {wrong, "image_digest_differs"}, "a connection that breaks": {short, "image_server_slow"},
		"compressed data that are cut off": {broken, "image_unreachable"}, "more than the disk has": {long, "disk_too_small"},
	} {
		t.Run(name, func(t *testing.T) {
			path := disk(t, 24*mib)
			err := write(t, c.image, path)
			require.Error(t, err)
			require.Equal(t, c.cause, string(agent.CauseOf(failure.As(err).CommandError())), "%v", err)
			require.Zero(t, bytes.Count(content(t, path)[:mib], []byte{0xff}), "the beginning is erased")
		})
	}
}

func TestProgressEndsAtOne(t *testing.T) {
	d, err := imagewriter.Open(disk(t, 24*mib))
	require.NoError(t, err)
	last, most := -1.0, int64(0)
	w := imagewriter.Writer{Client: http.DefaultClient, Progress: func(f float64, n int64) {
		require.GreaterOrEqual(t, f, last)
		last, most = f, n
	}}
	require.NoError(t, w.Write(t.Context(), serve(t, raw()), d))
	require.InDelta(t, 1, last, 1e-9)
	require.Equal(t, int64(len(raw())), most)
	require.NoError(t, d.Close())
}

func TestAWriteThatIsCancelledEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(raw())))
		_, _ = w.Write(raw()[:2*mib])
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	i := serve(t, raw())
	i.URLs = []string{s.URL}
	d, err := imagewriter.Open(disk(t, 24*mib))
	require.NoError(t, err)
	require.Error(t, (&imagewriter.Writer{Client: http.DefaultClient}).Write(ctx, i, d))
	require.NoError(t, d.Close())
}
