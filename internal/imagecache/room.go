package imagecache

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// makeRoom reserves size bytes for an image, and drops for them what was not used for longest. The error is fault.Invalid if the whole
// cache is too small, and fault.Unavailable if it is full of images that are in use.
func (c *Cache) makeRoom(e *entry, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.Limit {
		return fault.Coded(fault.ImageCacheFull, "the image has %s, and image_cache_gib allows %s for all of them", text.Size(float64(size)), text.Size(float64(c.Limit)))
	}
	e.size = max(e.size, size)
	for c.size() > c.Limit {
		oldest := c.oldest(c.used)
		if oldest == nil {
			e.size = 0
			return fault.CodedAs(fault.Unavailable, fault.ImageCacheFull, "image_cache_gib allows %s, which images take that are in use", text.Size(float64(c.Limit)))
		}
		if err := c.drop(oldest); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether the last request for an image that is being fetched is older than abandonedAfter.
func (c *Cache) abandoned(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Sub(e.used) > abandonedAfter
}

// size is how many bytes all images take or will take. The caller holds the lock.
func (c *Cache) size() (total int64) {
	for _, e := range c.images {
		total += e.size
	}
	return total
}

// oldest is the image whose last use is the longest ago, if that is at least so long; nil = there is none. The caller holds the lock.
func (c *Cache) oldest(unused time.Duration) (oldest *entry) {
	for _, e := range c.images {
		if e.ended() && e.readers == 0 && c.now().Sub(e.used) >= unused && (oldest == nil || e.used.Before(oldest.used)) {
			oldest = e
		}
	}
	return oldest
}

// drop removes an image. The caller holds the lock.
func (c *Cache) drop(e *entry) error {
	name := c.part(e.key)
	if e.sha256 != "" {
		name = c.whole(e.key, e.sha256)
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(c.images, e.key)
	return nil
}

// sweep drops images whose last use is older than Age.
func (c *Cache) sweep() {
	every := time.NewTicker(max(min(c.Age/10, time.Hour), time.Second))
	defer every.Stop()
	for {
		c.dropOld()
		select {
		case <-every.C:
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Cache) dropOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.oldest(c.Age); e != nil; e = c.oldest(c.Age) {
		if err := c.drop(e); err != nil {
			c.Log.Warn("an old image could not be removed", zap.Error(err))
			return
		}
	}
}
