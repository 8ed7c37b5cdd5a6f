package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

// An API that goes away in between. The last answer stays open, and then the command is interrupted.
func followedEvents(t *testing.T, args ...string) (out, errs string, resumed []string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var mu sync.Mutex
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		resumed = append(resumed, r.Header.Get("Last-Event-ID")+" "+r.URL.RawQuery)
		turn := len(resumed)
		mu.Unlock()
		event := func(seq int, more string) {
			_, _ = fmt.Fprintf(w, "id: %d\ndata: {\"seq\":%d,\"at\":\"2026-11-22T14:02:11Z\",\"type\":\"operation.ended\",\"node_uuid\":\"u\",\"node_name\":\"n1\",\"operation\":\"7\",\"kind\":\"deploy\",\"cause\":null%s}\n\n", seq, seq, more)
		}
		switch turn {
		case 1:
			_, _ = io.WriteString(w, "retry: 1000\nid: 5\n\n: nothing new\n\n")
			event(6, `,"outcome":"failed","changed":["name","extra"],"error":"no\u001b[2J disk"`)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write(faultOf("The database is away.", fault.DatabaseUnavailable))
		default:
			_, _ = io.WriteString(w, "id: 8\nevent: reset\ndata: {\"after\":6,\"oldest\":8,\"seq\":8}\n\n")
			event(9, `,"outcome":"succeeded"`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(web.Close)
	seen := &until{then: interrupt}
	var said strings.Builder
	err := execute(ctx, append([]string{"events", "--api", web.URL}, args...), strings.NewReader(""), seen, &said)
	require.ErrorIs(t, err, context.Canceled)
	return seen.String(), said.String(), resumed
}

// until calls then when the second line was written.
type until struct {
	strings.Builder
	then func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Builder.Write(p)
	if strings.Count(u.String(), "operation.ended") == 2 {
		u.then()
	}
	return n, err
}

func TestEventsGoOnWhereTheyWereAfterAnOutage(t *testing.T) {
	out, said, resumed := followedEvents(t, "--output", "json", "--kind", "deploy,clean", "--node", "n1")
	require.Equal(t, []string{" kind=deploy%2Cclean&node=n1", "6 kind=deploy%2Cclean&node=n1", "6 kind=deploy%2Cclean&node=n1"}, resumed)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	require.JSONEq(t, `{"seq":9,"at":"2026-11-22T14:02:11Z","type":"operation.ended","node_uuid":"u","node_name":"n1","operation":"7","kind":"deploy","cause":null,"outcome":"succeeded"}`, lines[1])
	require.Equal(t, 1, strings.Count(said, "trying again until Ctrl-C"), said)
	require.Contains(t, said, "the events after 6 are not all kept any more")
}

func TestEventsAreLinesForPeople(t *testing.T) {
	out, _, resumed := followedEvents(t, "--after", "3")
	require.Equal(t, "3 ", resumed[0])
	first, _, _ := strings.Cut(out, "\n")
	require.Contains(t, first, "operation.ended  n1 deploy 7  changed=name,extra  error=no")
	require.Contains(t, first, "outcome=failed")
	require.NotContains(t, first, "\x1b")
}

func TestEventsHaveTheirTimesInUTC(t *testing.T) {
	elsewhere := time.FixedZone("elsewhere", 5*60*60)
	line, err := eventLine(client.StreamEvent{At: time.Date(2026, 11, 22, 19, 2, 11, 0, elsewhere), Type: "operation.ended", NodeName: "n1", Raw: []byte("{}")})
	require.NoError(t, err)
	require.Equal(t, "2026-11-22 14:02:11Z  operation.ended  n1", line)
}

func TestEventsThatAreRefusedEndTheCommand(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(faultOf("There is no kind of operation dance.", fault.InvalidRequest))
	}))
	t.Cleanup(web.Close)
	err := execute(t.Context(), []string{"events", "--kind", "dance", "--api", web.URL}, strings.NewReader(""), io.Discard, io.Discard)
	require.ErrorContains(t, err, "There is no kind of operation dance")
	err = execute(t.Context(), []string{"events", "--timeout", "50ms", "--api", "http://127.0.0.1:1"}, strings.NewReader(""), io.Discard, io.Discard)
	require.ErrorContains(t, err, "can not be reached")
}
