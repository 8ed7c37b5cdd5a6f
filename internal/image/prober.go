package image

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"go.temper.dev/temper/internal/fault"
)

// Limits of what a Prober remembers.
const (
	probesLast = 10 * time.Second
	maxProbes  = 1000
)

// Prober probes images for requests that come many at a time. Requests for the same image at the same time fetch it once, and what was
// learned is remembered for 10 s. An error that is fault.Invalid is not remembered, because somebody may have mended the image. It is safe for
// concurrent use.
type Prober struct {
	probe func(context.Context, Info) (int64, error)
	now   func() time.Time

	flights singleflight.Group
	mu      sync.Mutex
	known   map[string]probed
}

// probed is what was learned of an image.
type probed struct {
	size int64
	err  error
	at   time.Time
}

// NewProber returns a Prober that asks r, whose time limits it has.
func NewProber(r *Resolver) *Prober {
	return &Prober{probe: r.Probe, now: time.Now, known: map[string]probed{}}
}

// Probe is Resolver.Probe. It returns fault.Unreachable if ctx ends before.
func (p *Prober) Probe(ctx context.Context, i Info) (int64, error) {
	key := probeKey(i)
	if was, ok := p.recall(key); ok {
		return was.size, was.err
	}
	flight := p.flights.DoChan(key, func() (any, error) { return p.fetch(ctx, key, i), nil })
	select {
	case done := <-flight:
		learned := done.Val.(probed) //nolint:forcetypeassert // see above
		return learned.size, learned.err
	case <-ctx.Done():
		return 0, fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "it took too long")
	}
}

// probeKey returns the fields of i that decide what is fetched, as one string.
func probeKey(i Info) string {
	return strings.Join([]string{i.Source, i.Format, i.Checksum, i.Algo, i.Authorization}, "\x00")
}

// fetch probes the image, unless another request has done that after Probe looked for it.
func (p *Prober) fetch(ctx context.Context, key string, i Info) probed {
	if was, ok := p.recall(key); ok {
		return was
	}
	size, err := p.probe(context.WithoutCancel(ctx), i) // others may wait for it, too
	learned := probed{size: size, err: err, at: p.now()}
	if !fault.Is(err, fault.Invalid) {
		p.remember(key, learned)
	}
	return learned
}

func (p *Prober) recall(key string) (probed, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, ok := p.known[key]
	return was, ok && p.now().Sub(was.at) < probesLast
}

func (p *Prober) remember(key string, learned probed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxProbes {
		clear(p.known)
	}
	p.known[key] = learned
}
