package system_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// digest returns the sha256 of the rack's disk image.
func digest(t *testing.T, r *rack) string {
	t.Helper()
	a, err := request(http.MethodGet, r.url+"/images/disk.raw.sha256", nil, nil)
	require.NoError(t, err)
	f := strings.Fields(string(a.Body))
	require.NotEmpty(t, f)
	return f[0]
}

// library serves disk images, good and bad ones.
type library struct {
	url    string
	sha256 string // of good.raw

	mu   sync.Mutex
	gets map[string]int
}

// body is the content of a disk image, which does not matter.
var body = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// newLibrary serves good.raw, cut.raw (which ends in the middle), slow.raw (whose second half comes when the test is
// over, or gate is closed) and SUMS, a file of checksums. Whatever else is asked for is not there.
func newLibrary(t *testing.T, gate <-chan struct{}) *library {
	t.Helper()
	sum := sha256.Sum256(body)
	l := &library{sha256: hex.EncodeToString(sum[:]), gets: map[string]int{}}
	over := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/good.raw", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	for name, first := range beginnings {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(beginning(first)) })
	}
	mux.HandleFunc("/cut.raw", func(w http.ResponseWriter, _ *http.Request) { half(w) })
	mux.HandleFunc("/slow.raw", func(w http.ResponseWriter, r *http.Request) {
		half(w)
		select {
		case <-gate:
			_, _ = w.Write(body[len(body)/2:])
		case <-over:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/SUMS", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("0", 64) + "  other.raw\n" + l.sha256 + "  good.raw\n"))
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" { // the API reads the beginning before it accepts a deploy
			l.mu.Lock()
			l.gets[r.URL.Path]++
			l.mu.Unlock()
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(over)
		srv.CloseClientConnections()
		srv.Close()
	})
	l.url = srv.URL
	return l
}

// beginnings has the first bytes of images whose names do not tell their format.
var beginnings = map[string]string{
	"cloud.img":   "QFI\xfb\x00\x00\x00\x03", // qcow2, as many clouds' images are named
	"windows.img": "KDMV\x01\x00\x00\x00",    // vmdk
	"files.img":   "nothing that anybody knows",
}

// beginning returns an image that begins with these bytes.
func beginning(first string) []byte { return append([]byte(first), make([]byte, 1<<16)...) }

// half promises the whole body and sends its first half.
func half(w http.ResponseWriter) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush() // the client may have hung up
}

// got returns how often a whole file was requested.
func (l *library) got(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gets[path]
}
