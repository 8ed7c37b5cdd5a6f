package bootimage_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bootimage"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/iso9660"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/medium/mediumtest"
)

// kernel is the beginning of a Linux kernel for x86, with a mark.
func kernel(mark string) []byte {
	b := make([]byte, 0x400)
	copy(b[0x202:], "HdrS")
	return append(b, mark...)
}

// site is a web server with files, by path.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	gets  atomic.Int32
	hold  chan struct{} // closed = answers go out
}

func newSite(t *testing.T, files map[string][]byte) *site {
	t.Helper()
	s := &site{files: files, hold: make(chan struct{})}
	close(s.hold)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		content, hold := s.files[r.URL.Path], s.hold
		s.mu.Unlock()
		if content == nil {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodGet {
			s.gets.Add(1)
			<-hold
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s
}

func cache(t *testing.T, limit int64) (*bootimage.Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cds")
	c, err := bootimage.Open(bootimage.Config{Dir: dir, Limit: limit, Loaders: mediumtest.Image(t, ""), Reach: dial.Reach{Loopback: true}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.NoDirExists(t, dir)
	})
	return c, dir
}

// file returns a file of the CD that one medium is.
func file(t *testing.T, i *medium.Image, path string) []byte {
	t.Helper()
	m, err := i.For(medium.Contents{Node: "n1", Token: "t0ken", APIURLs: []string{"http://10.0.0.5:6385"}, Append: "quiet", CA: []byte("PEM"), OnCommandLine: true})
	require.NoError(t, err)
	b, err := io.ReadAll(m)
	require.NoError(t, err)
	p, err := iso9660.Find(bytes.NewReader(b), path)
	require.NoError(t, err)
	return b[p.Offset : p.Offset+p.Size]
}

func TestACDHasTheKernelTheRamdiskAndTheAgentsParameters(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{"/vmlinuz": kernel("one"), "/initrd": []byte("ramdisk one")})
	c, dir := cache(t, 1<<30)
	i, err := c.Image(t.Context(), s.URL+"/vmlinuz", s.URL+"/initrd")
	require.NoError(t, err)
	require.Equal(t, kernel("one"), file(t, i, "vmlinuz"))
	require.Equal(t, "ramdisk one", string(file(t, i, "initrd")))
	require.Equal(t, "core", string(file(t, i, "isolinux/ldlinux.c32")), "the boot loaders of Temper's image")
	const words = "console=tty0 console=ttyS0,115200n8 boot_method=vmedia ipa-api-url=http://10.0.0.5:6385 ipa-node-uuid=n1 ipa-agent-token=t0ken quiet\n"
	require.Contains(t, string(file(t, i, "boot/grub/grub.cfg")), "linux /vmlinuz "+words)
	require.Contains(t, string(file(t, i, "isolinux/isolinux.cfg")), "APPEND "+words)
	require.Equal(t, "PEM", string(bytes.TrimRight(file(t, i, "etc/ironic-python-agent/ironic.crt"), "\n")))
	require.Contains(t, string(file(t, i, "etc/ironic-python-agent.d/ironic-tls.conf")), "cafile = /etc/ironic-python-agent/ironic.crt")

	again, err := c.Image(t.Context(), s.URL+"/vmlinuz", s.URL+"/initrd")
	require.NoError(t, err)
	require.Same(t, i, again)
	require.EqualValues(t, 2, s.gets.Load(), "each file is fetched once")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left of the work")
}

func TestABuildGoesOnWhenItsFirstReaderLeaves(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{"/vmlinuz": kernel("one"), "/initrd": []byte("ramdisk")})
	s.hold = make(chan struct{})
	c, _ := cache(t, 1<<30)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := c.Image(short, s.URL+"/vmlinuz", s.URL+"/initrd")
	require.True(t, fault.Is(err, fault.Unavailable), err)
	close(s.hold)
	_, err = c.Image(t.Context(), s.URL+"/vmlinuz", s.URL+"/initrd")
	require.NoError(t, err)
	require.EqualValues(t, 2, s.gets.Load())
}

func TestWhatIsNoCDIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{"/vmlinuz": kernel("one"), "/initrd": []byte("ramdisk"), "/page": bytes.Repeat([]byte("<html>"), 200), "/empty": {}})
	c, dir := cache(t, 1<<30)
	local := filepath.Join(t.TempDir(), "vmlinuz")
	require.NoError(t, os.WriteFile(local, kernel("file"), 0o600))
	_, err := c.Image(t.Context(), local, s.URL+"/initrd")
	require.NoError(t, err, "a path")
	for _, x := range []struct{ kernel, ramdisk, why string }{
		{s.URL + "/none", s.URL + "/initrd", "ask for the kernel " + s.URL + "/none: the server answered 404"},
		{s.URL + "/vmlinuz", s.URL + "/none", "ask for the ramdisk " + s.URL + "/none: the server answered 404"},
		{s.URL + "/page", s.URL + "/initrd", "the kernel is no Linux kernel for x86"},
		{s.URL + "/vmlinuz", s.URL + "/empty", "fetch the ramdisk " + s.URL + "/empty: it is empty"},
		{"/nowhere/vmlinuz", s.URL + "/initrd", "ask for the kernel /nowhere/vmlinuz: "},
		{"http://user:hunter2@127.0.0.1:1/vmlinuz", s.URL + "/initrd", "http://******@127.0.0.1:1/vmlinuz: the connection was refused"},
		{"http://169.254.169.254/vmlinuz", s.URL + "/initrd", "169.254.169.254"},
	} {
		_, err := c.Image(t.Context(), x.kernel, x.ramdisk)
		require.ErrorContains(t, err, x.why)
		require.NotContains(t, err.Error(), "hunter2")
		require.Equal(t, fault.RamdiskUnusable, fault.CodeOf(err))
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestACDOfAKernelThatHasChangedIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{"/vmlinuz": kernel("one"), "/initrd": []byte("ramdisk")})
	c, _ := cache(t, 1<<30)
	get := func() *medium.Image {
		i, err := c.Image(t.Context(), s.URL+"/vmlinuz", s.URL+"/initrd")
		require.NoError(t, err)
		return i
	}
	first := get()
	c.Later(2 * time.Minute)
	require.Same(t, first, get(), "the server says that it is the same")
	s.mu.Lock()
	s.files["/vmlinuz"] = kernel("number two")
	s.mu.Unlock()
	require.Same(t, first, get(), "nobody asks again within a minute")
	c.Later(2 * time.Minute)
	require.Equal(t, kernel("number two"), file(t, get(), "vmlinuz"))
	require.EqualValues(t, 4, s.gets.Load())
}

func TestTheCDsThatWereNotUsedForLongestGo(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string][]byte{"/a": kernel("a"), "/b": kernel("b"), "/c": kernel("c"), "/initrd": []byte("ramdisk")})
	c, dir := cache(t, 20<<20) // two of 9 MB
	kept := func() int {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(left)
	}
	for i, path := range []string{"/a", "/b", "/c"} {
		_, err := c.Image(t.Context(), s.URL+path, s.URL+"/initrd")
		require.NoError(t, err)
		require.Equal(t, i+1, kept(), "a server may be booting from each of them")
	}
	c.Later(time.Hour)
	_, err := c.Image(t.Context(), s.URL+"/c", s.URL+"/initrd")
	require.NoError(t, err)
	s.mu.Lock()
	s.files["/d"] = kernel("d")
	s.mu.Unlock()
	_, err = c.Image(t.Context(), s.URL+"/d", s.URL+"/initrd")
	require.NoError(t, err)
	require.Equal(t, 2, kept())
	gets := s.gets.Load()
	_, err = c.Image(t.Context(), s.URL+"/c", s.URL+"/initrd")
	require.NoError(t, err)
	require.Equal(t, gets, s.gets.Load(), "the one that was used last is still there")
}
