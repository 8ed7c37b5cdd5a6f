package imagecache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// entry is an image in the folder, whole or not. Its file is KEY.part until it is whole, and KEY.DIGEST then.
type entry struct {
	key  string
	done chan struct{} // closed when the download has ended
	err  error         // why it failed; valid when done is closed

	sha256 string // of the whole file, hexadecimal; "" = it is not whole
	size   int64  // bytes on the disk, or that will be there

	// guarded by Cache.mu
	used    time.Time
	failed  time.Time // when the download failed
	readers int

	got, want atomic.Int64 // bytes that were fetched, and of the whole; want 0 = not known
}

// newEntry is an entry whose download begins. before is the one of a download that failed, nil if there is none.
func newEntry(key string, before *entry) *entry {
	e := &entry{key: key, done: make(chan struct{})}
	if before != nil {
		e.size = before.size
	}
	return e
}

// stale reports whether the download failed so long ago that it is begun anew.
func (e *entry) stale(now time.Time) bool {
	return e.ended() && e.sha256 == "" && now.Sub(e.failed) >= failedFor
}

func (e *entry) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// progress is the error of an image that is not there yet.
func (e *entry) progress() error {
	got, want := e.got.Load(), e.want.Load()
	if want == 0 {
		return fault.New(fault.Unavailable, "the image is being fetched: %s so far", text.Size(float64(got)))
	}
	return fault.New(fault.Unavailable, "the image is being fetched: %s of %s", text.Size(float64(got)), text.Size(float64(want)))
}

var (
	wholeName = regexp.MustCompile(`^([0-9a-f]{32})\.([0-9a-f]{64})$`)
	partName  = regexp.MustCompile(`^([0-9a-f]{32})\.part$`)
)

func (c *Cache) whole(key, sha256 string) string { return filepath.Join(c.Dir, key+"."+sha256) }
func (c *Cache) part(key string) string          { return filepath.Join(c.Dir, key+".part") }

// entriesOf returns what an earlier process left in the folder. A part is that of a download that failed.
func entriesOf(dir string) (map[string]*entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the folder of images: %w", err)
	}
	all := map[string]*entry{}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), rawSuffix) { // half written: it is made anew
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return nil, err
			}
			continue
		}
		info, err := f.Info()
		if err != nil {
			return nil, fmt.Errorf("read the folder of images: %w", err)
		}
		e := &entry{done: make(chan struct{}), size: allocated(info), used: info.ModTime(), failed: info.ModTime()}
		close(e.done)
		if m := wholeName.FindStringSubmatch(f.Name()); m != nil {
			e.key, e.sha256 = m[1], m[2]
			all[e.key] = e
		} else if m := partName.FindStringSubmatch(f.Name()); m != nil && all[m[1]] == nil { // the whole one is sorted before it
			e.key = m[1]
			e.err = fault.New(fault.Unavailable, "an earlier process did not end the download")
			e.failed = time.Time{}
			all[e.key] = e
		}
	}
	return all, nil
}
