// Package bootimage makes CDs of kernels and ramdisks: an image as make ramdisk builds it, with the kernel and the ramdisk that a node
// or a setting names instead of Temper's own, so that the ironic-python-agent and vendors' agents boot as they are. The boot loaders
// are those of Temper's image.
package bootimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
)

// Config says where CDs are kept, and what may be fetched.
type Config struct {
	Dir     string // folder of this process alone
	Limit   int64  // most bytes of all CDs that are kept
	Loaders string // file of the image that has the boot loaders
	Reach   dial.Reach
}

const (
	// fileLimit is the most bytes of a kernel or ramdisk. The ironic-python-agent's has 0.4 GB.
	fileLimit = 2 << 30
	// buildLimit is how long fetching both and writing the CD may take.
	buildLimit = 15 * time.Minute
	// freshFor is how long a CD is used without asking whether its kernel or ramdisk has changed.
	freshFor = time.Minute
	// usedFor is how long a CD that was used last is kept for certain: a server may be booting from it.
	usedFor = 30 * time.Minute
)

// Cache builds CDs and keeps them. It is safe for concurrent use.
type Cache struct {
	Config
	from    fetcher
	flights singleflight.Group
	ctx     context.Context // of the builds
	stop    context.CancelFunc

	mu   sync.Mutex
	kept map[string]*kept // by name
}

// kept is a CD in the folder.
type kept struct {
	image   *medium.Image
	version string    // of the kernel and the ramdisk
	asked   time.Time // when the version was seen last
	used    time.Time
}

// Open removes what an earlier process has left in the folder: only who built a CD knows of which version it is.
func Open(c Config) (*Cache, error) {
	if err := os.RemoveAll(c.Dir); err != nil {
		return nil, fmt.Errorf("empty the folder of CDs: %w", err)
	}
	out := &Cache{Config: c, from: newFetcher(c.Reach), kept: map[string]*kept{}}
	out.ctx, out.stop = context.WithCancel(context.Background())
	return out, nil
}

// Close ends builds, and removes the CDs.
func (c *Cache) Close() error {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{os.RemoveAll(c.Dir)}
	for _, k := range c.kept {
		errs = append(errs, k.image.Close())
	}
	clear(c.kept)
	c.from.http.CloseIdleConnections()
	return errors.Join(errs...)
}

// Image returns the CD of a kernel and a ramdisk, which it builds if it is not there or one of the two has changed. They are URLs, or
// absolute paths. A build goes on when ctx ends: then the error is fault.Unavailable. Other errors say what is wrong with the files.
func (c *Cache) Image(ctx context.Context, kernel, ramdisk string) (*medium.Image, error) {
	sum := sha256.Sum256([]byte(kernel + "\x00" + ramdisk))
	name := hex.EncodeToString(sum[:])[:16]
	if image := c.fresh(name); image != nil {
		return image, nil
	}
	built := c.flights.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(c.ctx, buildLimit)
		defer cancel()
		return c.build(ctx, name, kernel, ramdisk)
	})
	select {
	case r := <-built:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*medium.Image), nil //nolint:forcetypeassert // build returns nothing else
	case <-ctx.Done():
		return nil, fault.New(fault.Unavailable, "the CD of the kernel and the ramdisk is being built")
	}
}

// fresh returns a CD that may be used without asking anybody, nil if there is none.
func (c *Cache) fresh(name string) *medium.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kept[name]
	if k == nil || time.Since(k.asked) > freshFor {
		return nil
	}
	k.used = time.Now()
	return k.image
}

// build returns the CD of today's kernel and ramdisk.
func (c *Cache) build(ctx context.Context, name, kernel, ramdisk string) (*medium.Image, error) {
	version, err := c.version(ctx, kernel, ramdisk)
	if err != nil {
		return nil, err
	}
	if image := c.confirm(name, version); image != nil {
		return image, nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(c.Dir, "new-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	made := parts{kernel: filepath.Join(work, "kernel"), ramdisk: filepath.Join(work, "ramdisk")}
	for _, f := range []struct{ what, from, to string }{{"kernel", kernel, made.kernel}, {"ramdisk", ramdisk, made.ramdisk}} {
		if err := c.from.fetch(ctx, f.from, f.to); err != nil {
			return nil, wrong("fetch the %s %s: %w", f.what, shown(f.from), err)
		}
	}
	file := filepath.Join(work, "cd.iso")
	if err := made.write(file, c.Loaders); err != nil {
		return nil, wrong("make the CD of kernel %s and ramdisk %s: %w", shown(kernel), shown(ramdisk), err)
	}
	image, err := medium.Open(file)
	if err != nil {
		return nil, err
	}
	return image, c.keep(name, file, &kept{image: image, version: version, asked: time.Now(), used: time.Now()})
}

// wrong is the error of a CD that can't be built because of what was named.
func wrong(format string, args ...any) error {
	return fault.Coded(fault.RamdiskUnusable, format, args...)
}

// version identifies the content of both by what their servers say of it.
func (c *Cache) version(ctx context.Context, kernel, ramdisk string) (string, error) {
	version := ""
	for _, f := range []struct{ what, from string }{{"kernel", kernel}, {"ramdisk", ramdisk}} {
		v, err := c.from.version(ctx, f.from)
		if err != nil {
			return "", wrong("ask for the %s %s: %w", f.what, shown(f.from), err)
		}
		version += v + "\n"
	}
	return version, nil
}

// confirm returns the CD of this version, nil if there is none.
func (c *Cache) confirm(name, version string) *medium.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kept[name]
	if k == nil || k.version != version {
		return nil
	}
	k.asked, k.used = time.Now(), time.Now()
	return k.image
}

// keep puts a CD into the folder, in place of an earlier one of the name, and removes those that were not used for longest, until all
// are within the limit.
func (c *Cache) keep(name, file string, k *kept) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.Rename(file, filepath.Join(c.Dir, name+".iso")); err != nil {
		return errors.Join(err, k.image.Close())
	}
	c.drop(name)
	c.kept[name] = k
	for total := c.size(); total > c.Limit; total = c.size() {
		oldest := ""
		for n, k := range c.kept {
			if time.Since(k.used) > usedFor && (oldest == "" || k.used.Before(c.kept[oldest].used)) {
				oldest = n
			}
		}
		if oldest == "" {
			return nil // all of them are in use
		}
		if err := os.Remove(filepath.Join(c.Dir, oldest+".iso")); err != nil {
			return err
		}
		c.drop(oldest)
	}
	return nil
}

// drop forgets a CD. What still reads it gets an error, and reads the next one.
func (c *Cache) drop(name string) {
	if k := c.kept[name]; k != nil {
		_ = k.image.Close() // it was only read
		delete(c.kept, name)
	}
}

func (c *Cache) size() (total int64) {
	for _, k := range c.kept {
		total += k.image.Size()
	}
	return total
}
