package store

import (
	"sync"

	"go.temper.dev/temper/internal/jsonvalue"
)

// decodedOnce decodes JSON that many rows have in common once. Its callers share the values, and must not change them.
type decodedOnce[V any] struct {
	mu  sync.Mutex
	all map[string]V
}

// decodedMost is how many different texts are kept.
const decodedMost = 1000

func (d *decodedOnce[V]) of(text []byte) (V, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v, ok := d.all[string(text)]; ok {
		return v, nil
	}
	var v V
	if err := jsonvalue.Unmarshal(text, &v); err != nil {
		return v, err
	}
	if d.all == nil || len(d.all) >= decodedMost {
		d.all = map[string]V{}
	}
	d.all[string(text)] = v
	return v, nil
}

// decodedInto is a target of Scan for JSON that was perhaps decoded before.
type decodedInto[V any] struct {
	from *decodedOnce[V]
	to   *V
}

// ScanBytes makes decodedInto a pgtype.BytesScanner.
func (d decodedInto[V]) ScanBytes(text []byte) (err error) {
	if text == nil {
		return nil
	}
	*d.to, err = d.from.of(text)
	return err
}
