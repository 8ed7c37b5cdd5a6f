package events_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
)

// quiet is a source in which nothing happens. It counts its open connections.
type quiet struct{ open chan struct{} }

func (q quiet) FollowEvents(context.Context) (events.Feed, error) {
	q.open <- struct{}{}
	return q, nil
}
func (q quiet) Look(context.Context) (events.Look, error) { return events.Look{Written: 1}, nil }
func (q quiet) Events(context.Context, events.Query) ([]events.Event, int64, error) {
	return nil, 0, nil
}

func (q quiet) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func (q quiet) Close() { <-q.open }

func TestAHubThatIsClosedHasNoConnectionAndOpensNone(t *testing.T) {
	source := quiet{make(chan struct{}, 10)}
	h := events.NewHub(events.Config{Source: source, Streams: 10, PerUser: 10})
	for _, ends := range []bool{true, false} {
		stream, err := h.Open(t.Context(), "", events.Filter{}, nil)
		require.NoError(t, err)
		if ends {
			stream.Close()
		}
	}
	require.Len(t, source.open, 1)
	h.Close()
	require.Empty(t, source.open)
	_, err := h.Open(t.Context(), "", events.Filter{}, nil)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), err)
	require.Empty(t, source.open)
	h.Close()
}
