package redfish_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

// What happens is in the logs of every persona that has some, in the order in which it happened, and is gone when they are cleared.
func TestTheEventLogsOfPersonasAreReadAndCleared(t *testing.T) {
	t.Parallel()
	for name, cleared := range withLogs {
		t.Run(name, func(t *testing.T) {
			r := personaRig(t, name, "")
			s, err := r.Driver.Open(t.Context(), r.Target)
			require.NoError(t, err)
			defer s.Close()
			texts := func(limit int, of ...string) (out []string) {
				t.Helper()
				events, err := s.Events(t.Context(), limit)
				require.NoError(t, err)
				require.Empty(t, events.Incomplete)
				for _, e := range events.List {
					require.NotEmpty(t, e.ID)
					require.WithinDuration(t, time.Now(), e.At, time.Minute)
					if slices.Contains(of, e.Log) {
						out = append(out, e.Severity+": "+e.Text)
					}
				}
				return out
			}
			require.Empty(t, texts(10, cleared...))
			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
			require.Eventually(t, func() bool { p, err := s.Power(t.Context()); return err == nil && p == bmc.PowerOn }, 10*time.Second, time.Millisecond)
			require.NoError(t, s.InjectNMI(t.Context()))
			happened := []string{"OK: The server was switched on.", "Critical: A non-maskable interrupt was sent to the server."}
			require.Equal(t, happened, texts(10, cleared[0]))
			got, err := s.ClearEvents(t.Context())
			require.NoError(t, err)
			require.Equal(t, cleared, got)
			require.NotContains(t, strings.Join(texts(1000, cleared...), " "), "switched on")
		})
	}
}

// A log of many pages is read to its end, and the newest entries are told, wherever the BMC has them. A BMC that has the newest first
// is asked for no more pages than needed.
func TestTheNewestEntriesAreToldOfALogOfManyPages(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]string{"generic": "Log", "idrac9": "Sel", "ilo5": "IML", "openbmc": "EventLog"} {
		t.Run(name, func(t *testing.T) {
			c := sim.Config{Personas: []string{name}}
			rack := newRack(t, c)
			r, server := rigOf(t, c, rack.URL()), rack.Server(listed(t, rack.URL()).Name)
			for range 240 {
				server.Log.Add(machine.LogPoweredOn)
			}
			server.Log.Add(machine.LogPoweredOff)
			before := server.Counts().Requests
			s, err := r.Driver.Open(t.Context(), r.Target)
			require.NoError(t, err)
			defer s.Close()
			events, err := s.Events(t.Context(), 3)
			require.NoError(t, err)
			require.Len(t, events.List, 3)
			last := events.List[2]
			require.Equal(t, "The server was switched off.", last.Text)
			if name != "idrac9" { // it has each entry in two logs
				require.Equal(t, []string{"239", "240", "241"}, []string{events.List[0].ID, events.List[1].ID, last.ID})
				require.Equal(t, of, last.Log)
			} else {
				require.Less(t, server.Counts().Requests-before, int64(15), "one page of each log")
			}
			events, err = s.Events(t.Context(), 200)
			require.NoError(t, err)
			require.Len(t, events.List, 200)
			require.True(t, slices.IsSortedFunc(events.List, func(a, b bmc.Event) int { return a.At.Compare(b.At) }))
		})
	}
}

// However a BMC answers, a log costs a bounded number of requests, entries and bytes, and what is missing is said.
func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	entry := func(n int) map[string]any {
		return map[string]any{"@odata.id": fmt.Sprintf("/e/%d", n), "Id": fmt.Sprint(n), "Created": "2026-01-02T03:04:05Z", "Message": "m", "Severity": "OK"}
	}
	page := func(n, size int, next string) map[string]any {
		members := make([]any, size)
		for i := range members {
			members[i] = entry(n*size + i)
		}
		return map[string]any{"Members": members, "Members@odata.nextLink": next}
	}
	const at = sysPath + "/LogServices/1/Entries"
	for name, c := range map[string]struct {
		answer   func(n int) any // to the nth request for a page
		says     string
		events   int
		requests int // at most
	}{
		"a page that follows itself": {func(int) any { return page(0, 3, at) }, "", 3, 1},
		"pages without an end":       {func(n int) any { return page(n, 100, fmt.Sprintf("%s?p=%d", at, n+1)) }, "has more than the 5000 entries", 10, 60},
		"empty pages without an end": {func(n int) any { return page(n, 0, fmt.Sprintf("%s?p=%d", at, n+1)) }, "", 0, 1},
		"small pages without an end": {func(n int) any { return page(n, 1, fmt.Sprintf("%s?p=%d", at, n+1)) }, "too many resources", 10, 600},
		"large answers without end": {func(n int) any {
			p := page(n, 1, fmt.Sprintf("%s?p=%d", at, n+1))
			p["x"] = strings.Repeat("x", 900<<10)
			return p
		}, "too large", 10, 40},
		"a page that is larger":       {func(n int) any { p := page(n, 1, ""); p["x"] = strings.Repeat("x", 2<<20); return p }, "not complete", 0, 2},
		"members that are no entries": {func(int) any { return map[string]any{"Members": []any{1, "x", nil, []any{}, entry(1)}} }, "", 1, 1},
		"members that are no list":    {func(int) any { return map[string]any{"Members": 7} }, "", 0, 1},
		"links that lead nowhere": {func(int) any {
			return map[string]any{"Members": []any{map[string]any{"@odata.id": "/redfish/v1/gone"}}}
		}, "", 0, 1},
		"an error": {func(int) any { return nil }, "not complete", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.set("system:LogServices", map[string]any{"@odata.id": sysPath + "/LogServices"})
			f.set(sysPath+"/LogServices", map[string]any{"Members": []any{map[string]any{"@odata.id": sysPath + "/LogServices/1"}}})
			f.set(sysPath+"/LogServices/1", map[string]any{"Id": "1", "Entries": map[string]any{"@odata.id": at}})
			requests := 0
			f.on(http.MethodGet, at, func(w http.ResponseWriter, _ *http.Request) bool {
				answer := c.answer(requests)
				requests++
				if answer == nil {
					w.WriteHeader(http.StatusInternalServerError)
					return true
				}
				reply(w, answer)
				return true
			})
			r := rig(t, f, nil)
			s, err := r.Driver.Open(t.Context(), r.Target)
			require.NoError(t, err)
			defer s.Close()
			events, err := s.Events(t.Context(), 10)
			require.NoError(t, err)
			require.Len(t, events.List, c.events)
			require.LessOrEqual(t, requests, c.requests)
			if c.says == "" {
				require.Empty(t, events.Incomplete)
			} else {
				require.Contains(t, strings.Join(events.Incomplete, " "), c.says)
			}
		})
	}
}
