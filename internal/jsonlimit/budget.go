package jsonlimit

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/semaphore"
)

// ErrBusy means that a budget is used up. Trying again later helps.
var ErrBusy = errors.New("too many large documents are being read at once")

// Budget limits the memory of all documents that are read at the same time. It is
// safe for concurrent use.
//
// Reading and decoding have separate limits, because a sender decides how long
// reading takes: a slow one occupies the bytes it has sent, but never a turn to
// decode.
type Budget struct {
	free  int64
	bytes *semaphore.Weighted
	turns *semaphore.Weighted
}

// NewBudget returns a budget of total bytes that may be held at once, and of turns
// documents that may be decoded at once. A document of at most free bytes counts
// for neither and never waits; of a larger one the first free bytes don't count.
func NewBudget(total, free int64, turns int64) *Budget {
	return &Budget{free: free, bytes: semaphore.NewWeighted(total), turns: semaphore.NewWeighted(turns)}
}

// Read is like the function Read, within the budget. It fails with ErrBusy if the
// budget is used up. After it has read a large document, it waits for a turn to
// decode it until ctx is done. The caller calls done, which is never nil, when it no
// longer holds anything of the document.
func (b *Budget) Read(ctx context.Context, r io.Reader, l Limits) (raw []byte, done func(), err error) {
	var held int64
	release := func() { b.bytes.Release(held) }
	limited := NewReader(r, l)
	limited.Reserve = func(kept int64) error {
		if more := kept - b.free - held; more > 0 {
			if !b.bytes.TryAcquire(more) {
				return ErrBusy
			}
			held += more
		}
		return nil
	}
	if raw, err = io.ReadAll(limited); err != nil || held == 0 {
		return raw, release, err
	}
	if err := b.turns.Acquire(ctx, 1); err != nil {
		return nil, release, errors.Join(ErrBusy, err)
	}
	return raw, func() { b.turns.Release(1); release() }, nil
}
