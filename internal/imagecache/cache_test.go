package imagecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is longer than any download takes on a busy machine.
const patience = 30 * time.Second

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func opened(t *testing.T, c Config) *Cache {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.Limit == 0 {
		c.Limit = 1 << 30
	}
	if c.Age == 0 {
		c.Age = time.Hour
	}
	c.Policy.Reach.Loopback, c.Log = true, zaptest.NewLogger(t)
	out, err := Open(c)
	require.NoError(t, err)
	out.pause = time.Millisecond
	t.Cleanup(func() { require.NoError(t, out.Close()) })
	return out
}

// imageAt is the image at a URL with the digest of content.
func imageAt(t *testing.T, url string, content []byte, more ...string) image.Info {
	t.Helper()
	info := map[string]any{"image_source": url, "image_download_source": "local"}
	if content != nil {
		info["image_os_hash_algo"], info["image_os_hash_value"] = "sha256", sumOf(content)
	}
	for i := 0; i < len(more); i += 2 {
		info[more[i]] = more[i+1]
	}
	i, err := image.Parse("n", info, nil, image.Policy{Reach: dial.Reach{Loopback: true}})
	require.NoError(t, err)
	return i
}

func read(t *testing.T, c *Cache, i image.Info) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := c.Image(ctx, i)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, got.Close()) }()
	b, err := io.ReadAll(got)
	require.NoError(t, err)
	require.Equal(t, sumOf(b), got.SHA256)
	require.Equal(t, int64(len(b)), got.Size)
	return b, nil
}

// origin is an image server that counts.
type origin struct {
	*httptest.Server
	asked atomic.Int64
}

func serves(t *testing.T, h http.HandlerFunc) *origin {
	t.Helper()
	o := &origin{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

func file(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(content)))
	}
}

func bytesOf(n int) []byte { return []byte(strings.Repeat("0123456789abcdef", n/16)) }

func TestManyReadersFetchAnImageOnce(t *testing.T) {
	content := bytesOf(1 << 16)
	o := serves(t, file(content))
	c := opened(t, Config{})
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			got, err := read(t, c, imageAt(t, o.URL+"/disk.raw", content))
			require.NoError(t, err)
			require.Equal(t, content, got)
		})
	}
	all.Wait()
	require.EqualValues(t, 1, o.asked.Load())
}

func TestASlowSourceStallsNobodyElse(t *testing.T) {
	released := make(chan struct{})
	slow := serves(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write(bytesOf(320))
		_ = http.NewResponseController(w).Flush()
		<-released
	})
	defer close(released)
	fast := serves(t, file(bytesOf(1024)))
	c := opened(t, Config{})
	waiting := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := c.Image(ctx, imageAt(t, slow.URL+"/a", bytesOf(1024)))
		return err
	}
	require.Equal(t, fault.Unavailable, fault.KindOf(waiting()))
	_, err := read(t, c, imageAt(t, fast.URL+"/b", bytesOf(1024)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(waiting().Error(), "320 B of 1 kB") }, patience, time.Millisecond)
}

// A download for which no conductor waits any more ends, and goes on with the next request.
func TestADownloadThatNobodyWantsEnds(t *testing.T) {
	content, released := bytesOf(1<<20), make(chan struct{})
	o := serves(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		if r.Header.Get("Range") != "" {
			file(content)(w, r)
			return
		}
		_, _ = w.Write(content[:1000])
		_ = http.NewResponseController(w).Flush()
		<-released
		_, _ = w.Write(content[1000:])
	})
	c := opened(t, Config{})
	var hours atomic.Int64
	c.now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
	i := imageAt(t, o.URL+"/disk", content)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := c.Image(ctx, i)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	hours.Store(1)
	close(released)
	e := c.images[c.keyOf(i)]
	<-e.done
	require.ErrorIs(t, e.err, errAbandoned)
	hours.Store(2)
	got, err := read(t, c, i)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

// A connection that is cut in the middle, again and again, loses nothing.
func TestADownloadThatIsCutOffGoesOnWhereItStopped(t *testing.T) {
	content := bytesOf(1 << 20)
	var ranges []string
	o := serves(t, func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) < 4 {
			w = &cut{ResponseWriter: w, left: 100_000}
		}
		file(content)(w, r)
	})
	got, err := read(t, opened(t, Config{}), imageAt(t, o.URL+"/disk", content))
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.Equal(t, []string{"", "bytes=100000-", "bytes=200000-", "bytes=300000-"}, ranges)
}

// cut ends the connection after some bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	if n := min(len(b), c.left); n < len(b) {
		_, _ = c.ResponseWriter.Write(b[:n])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(b)
	return c.ResponseWriter.Write(b)
}

// What an earlier process has fetched is used, whole or not. What it left is not believed: the digest decides.
func TestTheNextProcessGoesOn(t *testing.T) {
	content := bytesOf(1 << 16)
	for name, part := range map[string][]byte{"a beginning": content[:1000], "another beginning": []byte(strings.Repeat("x", 1000)), "all": content, "more": append(content, 'x')} {
		t.Run(name, func(t *testing.T) {
			o := serves(t, file(content))
			i, dir := imageAt(t, o.URL+"/disk", content), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, (&Cache{}).keyOf(i)+".part"), part, 0o600))
			got, err := read(t, opened(t, Config{Dir: dir}), i)
			require.NoError(t, err)
			require.Equal(t, content, got)
			asked := o.asked.Load()
			got, err = read(t, opened(t, Config{Dir: dir}), i)
			require.NoError(t, err)
			require.Equal(t, content, got)
			require.Equal(t, asked, o.asked.Load())
		})
	}
}

func TestAnImageThatCanNotBeHadHasACause(t *testing.T) {
	content := bytesOf(1 << 16)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		limit  int64
		code   fault.Code
		words  string
	}{
		"another digest":  {file(append([]byte("x"), content...)), 0, fault.ImageDigestDiffers, "the sha256 digest of the image's 65537 bytes is "},
		"shorter":         {file(content[1:]), 0, fault.ImageDigestDiffers, "65535 bytes"},
		"not there":       {http.NotFound, 0, fault.ImageUnreachable, "the server answered 404: it has no such image"},
		"a login":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, 0, fault.ImageUnreachable, "the server answered 401"},
		"larger than all": {file(content), 1 << 15, fault.ImageCacheFull, "the image has 65.5 kB, and image_cache_gib allows 32.8 kB"},
		"endless":         {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, 80 << 20, fault.ImageCacheFull, "image_cache_gib allows"},
		"redirects elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, 0, fault.ImageUnreachable, "169.254.169.254 is a link-local address"},
	} {
		t.Run(name, func(t *testing.T) {
			o := serves(t, c.answer)
			cache := opened(t, Config{Limit: c.limit})
			i := imageAt(t, o.URL+"/disk?sig=hidden", content)
			_, err := read(t, cache, i)
			require.ErrorContains(t, err, c.words)
			require.NotContains(t, err.Error(), "hidden")
			require.NotContains(t, err.Error(), cache.Dir)
			require.Equal(t, c.code, fault.CodeOf(err))
			asked := o.asked.Load()
			_, again := read(t, cache, i)
			require.Equal(t, err.Error(), again.Error(), "others learn it, too")
			require.Equal(t, asked, o.asked.Load())
			whole, err := filepath.Glob(filepath.Join(cache.Dir, "*.????????????????????????????????????????????????????????????????"))
			require.NoError(t, err)
			require.Empty(t, whole)
		})
	}
}

func endless(w io.Writer) {
	for b := make([]byte, 1<<20); ; {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

func TestTheOldestUnusedImageGoes(t *testing.T) {
	content := bytesOf(1 << 10)
	o := serves(t, file(content))
	c := opened(t, Config{Limit: 3 << 10})
	now := time.Now()
	c.now = func() time.Time { return now }
	get := func(name string) (*Image, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return c.Image(ctx, imageAt(t, o.URL+"/"+name, content))
	}
	held, err := get("a")
	require.NoError(t, err)
	for _, name := range []string{"b", "c"} {
		i, err := get(name)
		require.NoError(t, err)
		require.NoError(t, i.Close())
		now = now.Add(time.Second)
	}
	_, err = get("d")
	require.Equal(t, fault.ImageCacheFull, fault.CodeOf(err), "all were used just now")
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "so that whoever waits asks again")
	now = now.Add(c.used)
	i, err := get("d")
	require.NoError(t, err)
	require.NoError(t, i.Close())
	require.Len(t, c.images, 3)
	asked := o.asked.Load()
	for _, name := range []string{"a", "c", "d"} {
		i, err := get(name)
		require.NoError(t, err)
		require.NoError(t, i.Close())
	}
	require.Equal(t, asked, o.asked.Load(), "b has gone")

	now = now.Add(c.Age)
	c.dropOld()
	require.Len(t, c.images, 1, "one is being read")
	require.NoError(t, held.Close())
	now = now.Add(c.Age)
	c.dropOld()
	files, err := os.ReadDir(c.Dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// Whoever has other secrets, or none, does not get what was fetched with the right ones.
func TestSecretsOpenOnlyWhatTheyOpen(t *testing.T) {
	content := bytesOf(1024)
	o := serves(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		file(content)(w, r)
	})
	c := opened(t, Config{})
	_, err := read(t, c, imageAt(t, o.URL+"/disk", content, "image_request_authorization_secret", "Bearer right"))
	require.NoError(t, err)
	for _, secret := range []string{"Bearer wrong", ""} {
		_, err = read(t, c, imageAt(t, o.URL+"/disk", content, "image_request_authorization_secret", secret))
		require.ErrorContains(t, err, "403")
	}
}

func TestFilesOfThisMachine(t *testing.T) {
	dir, content := t.TempDir(), bytesOf(1024)
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, content, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "disk.raw"), content, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	c := opened(t, Config{Folders: []string{dir}})
	got, err := read(t, c, imageAt(t, "file://"+dir+"/disk.raw", content))
	require.NoError(t, err)
	require.Equal(t, content, got)
	for path, words := range map[string]string{
		outside: "in none of the folders of image_folders", dir + "/link": "can't be read", dir + "/folder": "no regular file", dir + "/none": "no such file",
		dir + "2/disk.raw": "in none of the folders",
	} {
		_, err := read(t, c, imageAt(t, "file://"+path, content))
		require.ErrorContains(t, err, words, path)
	}
	_, err = Open(Config{Dir: t.TempDir(), Folders: []string{"/none/such"}})
	require.ErrorContains(t, err, "image_folders")
}

// A checksum file is asked for once, too.
func TestAChecksumFile(t *testing.T) {
	content := bytesOf(1024)
	o := serves(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "SUMS") {
			_, _ = fmt.Fprintf(w, "%s  disk\n", sumOf(content))
			return
		}
		file(content)(w, r)
	})
	c := opened(t, Config{})
	for range 3 {
		_, err := read(t, c, imageAt(t, o.URL+"/disk", nil, "image_checksum", o.URL+"/SUMS"))
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, o.asked.Load())
}

func TestAFileThatSomebodyRemovedIsFetchedAgain(t *testing.T) {
	content := bytesOf(1024)
	o := serves(t, file(content))
	c := opened(t, Config{})
	i := imageAt(t, o.URL+"/disk", content)
	_, err := read(t, c, i)
	require.NoError(t, err)
	require.NoError(t, os.Remove(c.whole(c.keyOf(i), sumOf(content))))
	_, err = read(t, c, i)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	_, err = read(t, c, i)
	require.NoError(t, err)
}

// The words of a cut download tell how far it came, and not the address.
func TestASourceThatNeverSendsTheRest(t *testing.T) {
	o := serves(t, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(&cut{ResponseWriter: w}, r, "", time.Time{}, strings.NewReader(string(bytesOf(1024))))
	})
	c := opened(t, Config{})
	i := imageAt(t, o.URL+"/disk", bytesOf(2048))
	_, err := read(t, c, i)
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "%v", err)
	require.EqualValues(t, fetchTries, o.asked.Load())
	require.NotContains(t, err.Error(), c.Dir)
}
