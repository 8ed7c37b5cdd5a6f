// Package imagecache keeps images near the servers: it fetches each image once, from wherever it is, checks its digest, and serves it
// to as many agents as ask. It keeps as many bytes as it is allowed, and drops what was not used for longest.
package imagecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

// Config says what is kept where, and what may be fetched.
type Config struct {
	Dir     string        // folder of this process alone; images that an earlier one left there are used
	Limit   int64         // most bytes of all images
	Age     time.Duration // how long an image is kept that no agent reads
	Policy  image.Policy
	Raw     bool     // qcow2 images are served as the raw disks that are in them
	Folders []string // from which images may be read by file://
	Clouds  Clouds   // for images of Glance
	Log     *zap.Logger
}

const (
	// describeLimit is how long a source may take to tell what an image is.
	describeLimit = 30 * time.Second
	// describedFor is how long that is remembered: many agents ask for the same image at a time.
	describedFor = time.Minute
	// failedFor is how long a failed download is not begun anew, so that everybody who waits for it learns why it failed.
	failedFor = 30 * time.Second
	// usedFor is how long an image that was used last is kept for certain: an agent may be about to fetch it.
	usedFor = 10 * time.Minute
)

// Cache keeps images. It is safe for concurrent use.
type Cache struct {
	Config
	resolver *image.Resolver
	sources  map[image.Scheme]source
	now      func() time.Time
	used     time.Duration // usedFor
	pause    time.Duration // before the second try of a download
	flights  singleflight.Group
	ctx      context.Context // of the downloads
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu        sync.Mutex
	described map[string]description
	images    map[string]*entry // by key
}

// description is what was learned of an image from its source.
type description struct {
	info image.Info
	at   time.Time
}

// Open opens the folder, and goes on with what an earlier process left there. There is no folder before the first image.
func Open(c Config) (*Cache, error) {
	web := newWeb(c.Policy.Reach)
	files, err := newFiles(c.Folders)
	if err != nil {
		return nil, err
	}
	out := &Cache{
		Config: c, resolver: image.NewResolver(c.Policy, 0), now: time.Now, used: usedFor, pause: backoff.DefaultInitialInterval, described: map[string]description{},
		sources: map[image.Scheme]source{image.HTTP: web, image.HTTPS: web, image.File: files, image.OCI: newArtifacts(web), image.Glance: newGlance(c.Clouds, web, c.Policy)},
	}
	if out.images, err = entriesOf(c.Dir); err != nil {
		return nil, err
	}
	out.ctx, out.stop = context.WithCancel(context.Background())
	out.work.Go(out.sweep)
	return out, nil
}

// Close ends the downloads. What was fetched of them stays, and the next process goes on there.
func (c *Cache) Close() error {
	c.stop()
	c.work.Wait()
	c.resolver.Close()
	errs := make([]error, 0, len(c.sources))
	for _, s := range c.sources {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Image returns an image, which is fetched if it is not there. While it is being fetched the error is fault.Unavailable, whose words say
// how far it is; ctx bounds how long Image waits for the end. Other errors say why the image can't be had.
func (c *Cache) Image(ctx context.Context, i image.Info) (*Image, error) {
	i, err := c.describe(ctx, i)
	if err != nil {
		return nil, err
	}
	e := c.entry(i)
	select {
	case <-e.done:
	case <-ctx.Done():
		return nil, e.progress()
	}
	if e.err != nil {
		return nil, e.err
	}
	return c.open(e)
}

// describe returns i with the digest that its source tells.
func (c *Cache) describe(ctx context.Context, i image.Info) (image.Info, error) {
	key := c.keyOf(i)
	c.mu.Lock()
	known, ok := c.described[key]
	c.mu.Unlock()
	if ok && c.now().Sub(known.at) < describedFor {
		return known.info, nil
	}
	flight := c.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(c.ctx, describeLimit)
		defer cancel()
		i, err := c.resolver.Resolve(ctx, i)
		if err == nil {
			i, err = c.sources[i.Scheme()].describe(ctx, i)
		}
		if err != nil {
			return nil, err
		}
		c.remember(key, i)
		return i, nil
	})
	select {
	case r := <-flight:
		if ok && fault.Is(r.Err, fault.Unreachable) { // the source is away: what it said last is still true of what is kept
			return known.info, nil
		}
		if r.Err != nil {
			return image.Info{}, r.Err
		}
		return r.Val.(image.Info), nil //nolint:forcetypeassert // the flight returns nothing else
	case <-ctx.Done():
		return image.Info{}, fault.New(fault.Unavailable, "the image's source is being asked")
	}
}

func (c *Cache) remember(key string, i image.Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const most = 1000
	if len(c.described) >= most {
		clear(c.described)
	}
	c.described[key] = description{i, c.now()}
}

// keyOf names an image. The secrets that fetch it are in it: whoever has others does not get what was fetched with these.
func (c *Cache) keyOf(i image.Info) string {
	parts := []string{i.Source, i.Algo, i.Checksum, i.Authorization, i.PullSecret, i.Format}
	if c.Raw {
		parts = append(parts, "raw")
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// entry returns the image's entry, and begins its download if it is not there.
func (c *Cache) entry(i image.Info) *entry {
	key := c.keyOf(i)
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.images[key]
	if e != nil && !e.stale(c.now()) {
		e.used = c.now()
		return e
	}
	e = newEntry(key, e)
	e.used = c.now()
	c.images[key] = e
	c.work.Go(func() { c.fetch(c.ctx, e, i) })
	return e
}

// open opens an image for one reader.
func (c *Cache) open(e *entry) (*Image, error) {
	f, err := os.Open(c.whole(e.key, e.sha256))
	if errors.Is(err, fs.ErrNotExist) { // a person removed it: the next request has it fetched again
		c.mu.Lock()
		if c.images[e.key] == e {
			delete(c.images, e.key)
		}
		c.mu.Unlock()
		return nil, fault.New(fault.Unavailable, "the image has to be fetched again")
	}
	if err != nil {
		return nil, err
	}
	about, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.readers++
	e.used = c.now()
	_ = os.Chtimes(f.Name(), e.used, e.used) // for the next process; without it the image only seems older
	return &Image{File: f, SHA256: e.sha256, Size: about.Size(), closed: sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		e.readers--
		e.used = c.now()
	})}, nil
}

// Image is an image that was fetched and whose digest was right.
type Image struct {
	*os.File
	SHA256 string // hexadecimal
	Size   int64
	closed func()
}

// Close ends the reading. Then the image may be dropped.
func (i *Image) Close() error {
	i.closed()
	return i.File.Close()
}
