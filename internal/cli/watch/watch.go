package watch

import (
	"context"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/client"
)

// PollOnce reads once how far all of them are, a few at a time. What becomes of an operation later is no error.
func PollOnce(ctx context.Context, c *client.Client, all []*Target, parallel int) {
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, t := range all {
		g.Go(func() error {
			t.poll(ctx, c)
			if t.ID != "" {
				t.Err = nil // it was accepted, and nobody waits for its end
			}
			return nil
		})
	}
	_ = g.Wait() // never fails
}

// Follow reads all of them, at most parallel at a time, and shows them in v until each is done, the time is up or ctx ends.
// What went wrong is in their Err.
func (o Options) Follow(ctx context.Context, c *client.Client, v View, all []*Target, parallel int) {
	if o.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Wait)
		defer cancel()
	}
	for {
		open := 0
		var g errgroup.Group
		g.SetLimit(parallel)
		for _, t := range all {
			if !t.Done {
				open++
				g.Go(func() error {
					t.poll(ctx, c)
					return nil
				})
			}
		}
		_ = g.Wait() // never fails
		v.update(all)
		if open == 0 || !o.pause(ctx, open) {
			break
		}
	}
	for _, t := range all {
		if !t.Done {
			t.Err = unfinished(ctx, t, o.Wait)
		}
	}
}
