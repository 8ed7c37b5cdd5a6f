package bootimage

import "time"

// Later lets time pass for what is kept.
func (c *Cache) Later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kept {
		k.asked, k.used = k.asked.Add(-d), k.used.Add(-d)
	}
}
