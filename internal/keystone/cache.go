package keystone

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cacheSize bounds each of a cache's two maps.
const cacheSize = 4096

// cache keeps what Keystone said of tokens, by their digests.
type cache[V any] struct {
	mu sync.Mutex
	// recent has the entries that were used last. When it is full it becomes older, and those in older that were not used since are
	// dropped.
	recent, older map[[sha256.Size]byte]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

func newCache[V any]() *cache[V] { return &cache[V]{recent: map[[sha256.Size]byte]entry[V]{}} }

func (c *cache[V]) get(digest [sha256.Size]byte, now time.Time) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.recent[digest]
	if !ok {
		if e, ok = c.older[digest]; ok {
			delete(c.older, digest)
			c.keep(digest, e)
		}
	}
	if !ok || !now.Before(e.until) {
		return value, false
	}
	return e.value, true
}

func (c *cache[V]) put(digest [sha256.Size]byte, value V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.older, digest)
	c.keep(digest, entry[V]{value, until})
}

func (c *cache[V]) keep(digest [sha256.Size]byte, e entry[V]) {
	if _, ok := c.recent[digest]; !ok && len(c.recent) >= cacheSize {
		c.older, c.recent = c.recent, map[[sha256.Size]byte]entry[V]{}
	}
	c.recent[digest] = e
}
