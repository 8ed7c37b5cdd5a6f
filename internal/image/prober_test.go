package image

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/fault"
)

func newTestProber(probe func(context.Context, Info) (int64, error)) (*Prober, *time.Time) {
	now := time.Unix(1, 0)
	p := NewProber(&Resolver{})
	p.probe, p.now = probe, func() time.Time { return now }
	return p, &now
}

func TestAnImageIsFetchedOnceForManyRequests(t *testing.T) {
	var asked atomic.Int32
	all := make(chan struct{})
	p, now := newTestProber(func(context.Context, Info) (int64, error) { asked.Add(1); <-all; return 7, nil })
	var g errgroup.Group
	for range 50 {
		g.Go(func() error {
			size, err := p.Probe(t.Context(), Info{Source: "http://i/x"})
			require.Equal(t, int64(7), size)
			return err
		})
	}
	close(all)
	require.NoError(t, g.Wait())
	require.Equal(t, int32(1), asked.Load())
	_, err := p.Probe(t.Context(), Info{Source: "http://i/y"})
	require.NoError(t, err)
	require.Equal(t, int32(2), asked.Load(), "another image")
	*now = now.Add(probesLast)
	_, err = p.Probe(t.Context(), Info{Source: "http://i/x"})
	require.NoError(t, err)
	require.Equal(t, int32(3), asked.Load(), "it may have changed meanwhile")
}

// A request may look whether the image is known right before another one has learnt it, and ask for it right after.
func TestAnImageThatWasFetchedMeanwhileIsNotFetchedAgain(t *testing.T) {
	asked := 0
	p, _ := newTestProber(func(context.Context, Info) (int64, error) { asked++; return 7, nil })
	i := Info{Source: "http://i/x"}
	for range 2 {
		require.Equal(t, int64(7), p.fetch(t.Context(), probeKey(i), i).size)
	}
	require.Equal(t, 1, asked)
}

// A refusal is not remembered: somebody mends the image and asks again. A server that is away is, so that not every request waits for it.
func TestWhichErrorsOfAProbeAreRemembered(t *testing.T) {
	for kind, want := range map[fault.Kind]int32{fault.Invalid: 2, fault.Unreachable: 1} {
		var asked atomic.Int32
		p, _ := newTestProber(func(context.Context, Info) (int64, error) { asked.Add(1); return 0, fault.New(kind, "no") })
		for range 2 {
			_, err := p.Probe(t.Context(), Info{Source: "http://i/x"})
			require.True(t, fault.Is(err, kind))
		}
		require.Equal(t, want, asked.Load(), kind)
	}
}

func TestAProbeEndsWithTheRequestThatAsksForIt(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	p, _ := newTestProber(func(ctx context.Context, _ Info) (int64, error) {
		close(begun)
		<-end
		return 7, errors.Join(ctx.Err())
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := p.Probe(ctx, Info{Source: "http://i/x"}); first <- err }()
	<-begun
	cancel()
	require.True(t, fault.Is(<-first, fault.Unreachable))
	close(end)
	size, err := p.Probe(t.Context(), Info{Source: "http://i/x"})
	require.NoError(t, err, "the request that asked first does not end it for others")
	require.Equal(t, int64(7), size)
}
