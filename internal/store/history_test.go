package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestTheNewest300EventsAreKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, other := create(t, s, node.Available), create(t, s, node.Available)
	add := func(i int) {
		if err := s.AddHistory(t.Context(), node.HistoryEvent{NodeUUID: n.UUID, Event: fmt.Sprint("e", i), EventType: "state", User: "ann", Conductor: "c", Operation: 5}); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for w := range 10 {
		wg.Go(func() {
			for i := range 40 {
				add(w*40 + i)
			}
		})
	}
	wg.Wait()
	for i := range 5 {
		add(1000 + i)
	}
	_, err := s.ForgetEvents(t.Context(), 0, 1_000_000)
	require.NoError(t, err)
	all, err := s.History(t.Context(), n.UUID, node.Page{})
	require.NoError(t, err)
	require.Len(t, all, store.HistoryKept)
	require.Equal(t, "e1004", all[299].Event)
	require.Equal(t, node.HistoryEvent{
		UUID: all[299].UUID, NodeUUID: n.UUID, CreatedAt: all[299].CreatedAt, Event: "e1004", EventType: "state", Severity: "INFO", Conductor: "c", User: "ann", Operation: 5,
		State: node.Available,
	}, all[299])
	page, err := s.History(t.Context(), n.Name, node.Page{Marker: all[99].UUID, Limit: 50})
	require.NoError(t, err)
	require.Equal(t, all[100:150], page)
	page, err = s.History(t.Context(), n.Name, node.Page{Marker: all[10].UUID, SortDir: "desc"})
	require.NoError(t, err)
	require.Len(t, page, 10)
	require.Equal(t, all[0], page[9])
	theirs, err := s.History(t.Context(), other.UUID, node.Page{})
	require.NoError(t, err)
	require.Len(t, theirs, 1, "it was created")

	one, err := s.HistoryEvent(t.Context(), n.Name, all[7].UUID)
	require.NoError(t, err)
	require.Equal(t, &all[7], one)
	for _, uuid := range []string{theirs[0].UUID, someUUID(), "x"} {
		_, err = s.HistoryEvent(t.Context(), n.UUID, uuid)
		kind(t, fault.NotFound, err)
	}
	_, err = s.History(t.Context(), n.UUID, node.Page{SortKey: "severity"})
	kind(t, fault.Invalid, err)
}

func TestAnEventHasABound(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	require.NoError(t, s.AddHistory(t.Context(), node.HistoryEvent{NodeUUID: n.UUID, Event: strings.Repeat("x\xff\x00", 9000), EventType: "error"}))
	events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc"})
	require.NoError(t, err)
	require.LessOrEqual(t, len(events[0].Event), 8192)
}
