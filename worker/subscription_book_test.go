package worker

import (
	"context"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// readyStore says when events are heard.
type readyStore struct {
	*store.Store
	ready chan struct{}
}

func (s readyStore) HearBMCEvents(ctx context.Context, ready func(), heard func(string)) error {
	return s.Store.HearBMCEvents(ctx, func() { ready(); close(s.ready) }, heard)
}

func TestAnEventReachesTheConductorThatWaitsForIt(t *testing.T) {
	keys, err := store.NewKeyset()
	require.NoError(t, err)
	db, err := store.Open(t.Context(), store.Config{URL: testenv.Postgres(t), Keyset: keys, ConductorTimeout: time.Hour})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	s := readyStore{db, make(chan struct{})}
	b := &SubscriptionBook{Store: s, Conductor: "c1", URL: "http://10.0.0.5:6385/", Log: zap.NewNop()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); b.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	<-s.ready

	happened, others := make(chan struct{}, 1), make(chan struct{}, 1)
	destination, err := b.Begin(t.Context(), "https://bmc", func() { happened <- struct{}{} })
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(destination, "http://10.0.0.5:6385/temper/v1/bmc-events/"), destination)
	require.Len(t, path.Base(destination), 43, "as the API wants it")
	second, err := b.Begin(t.Context(), "https://other", func() { others <- struct{}{} })
	require.NoError(t, err)
	require.NotEqual(t, destination, second)
	id := node.SubscriptionID(destination)
	known, err := db.AnnounceBMCEvent(t.Context(), id)
	require.NoError(t, err)
	require.True(t, known)
	<-happened
	require.Empty(t, others)

	b.Abandoned(t.Context(), id)
	require.Equal(t, []string{id}, b.Left(t.Context(), "https://bmc"))
	b.Ended(t.Context(), id)
	require.Empty(t, b.Left(t.Context(), "https://bmc"))
	known, err = db.AnnounceBMCEvent(t.Context(), id)
	require.NoError(t, err)
	require.False(t, known, "it is over")
}
