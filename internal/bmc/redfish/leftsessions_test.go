package redfish_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

// book has the sessions of conductors with one BMC.
type book struct {
	mu   sync.Mutex
	of   map[string]string // path -> conductor
	made map[string]string // path -> when the BMC says that it was created
	dead []string
}

// page is the book as one conductor uses it.
type page struct {
	*book
	conductor string
}

func (p page) Opened(_ context.Context, _ string, s node.BMCSession) []node.BMCSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Path != "" {
		p.of[s.Path] = p.conductor
		if p.made == nil {
			p.made = map[string]string{}
		}
		p.made[s.Path] = s.Created
	}
	var left []node.BMCSession
	for at, conductor := range p.of {
		if slices.Contains(p.dead, conductor) {
			left = append(left, node.BMCSession{Path: at, Created: p.made[at]})
		}
	}
	return left
}

func (p page) Ended(_ context.Context, _ string, paths ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range paths {
		delete(p.of, at)
	}
}

func (b *book) known() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, conductor := range b.of {
		out = append(out, conductor)
	}
	slices.Sort(out)
	return out
}

// Two conductors die without logging out. The next one ends their sessions, also if the BMC allows no further one.
func TestSessionsOfDeadConductorsAreEnded(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"there is room for another one": 16, "the BMC allows no further one": 2} {
		t.Run(name, func(t *testing.T) {
			rack := startRack(t, sim.Config{MaxSessions: most})
			info := listed(t, rack).info()
			info["redfish_auth_type"] = "session"
			b := &book{of: map[string]string{}}
			driver := func(conductor string) *redfish.Driver {
				c := quick()
				c.Sessions = page{b, conductor}
				return newDriver(t, c)
			}
			require.NoError(t, power(t, driver("c1"), info))
			require.NoError(t, power(t, driver("c2"), info))
			require.Equal(t, 2, listed(t, rack).Sessions)
			b.dead = []string{"c1", "c2"}
			last := driver("c3")
			require.NoError(t, power(t, last, info))
			require.Equal(t, 1, listed(t, rack).Sessions)
			require.Equal(t, []string{"c3"}, b.known())
			last.Close(t.Context())
			require.Zero(t, listed(t, rack).Sessions)
			require.Empty(t, b.known())
		})
	}
}

// The BMC has given the path of a session that ended to another one.
func TestASessionOfSomebodyElseIsNotEnded(t *testing.T) {
	t.Parallel()
	const path, created = "/redfish/v1/SessionService/Sessions/7", "2026-11-23T05:00:00Z"
	for name, c := range map[string]struct {
		user, created string
		ended         int
	}{
		"of another user":                                {user: "somebody-else", created: created},
		"of the same user, created later":                {user: "admin", created: "2026-11-23T05:10:00Z"},
		"the same, told in another time zone":            {user: "admin", created: "2026-11-23T07:00:00+02:00", ended: 1},
		"of the same user, and no time is told":          {user: "admin", ended: 1},
		"of the same user, and the time can't be a time": {user: "admin", created: strings.Repeat("9", 1000), ended: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.times(1, http.MethodGet, path, func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(map[string]any{"@odata.id": path, "UserName": c.user, "CreatedTime": c.created})
			})
			b := &book{of: map[string]string{path: "c1"}, made: map[string]string{path: created}, dead: []string{"c1"}}
			conf := quick()
			conf.Sessions = page{b, "c2"}
			require.NoError(t, power(t, newDriver(t, conf), f.info(map[string]any{"redfish_auth_type": "session"})))
			require.Equal(t, c.ended, f.count("DELETE "))
			require.Equal(t, []string{"c2"}, b.known())
		})
	}
}

// What the BMC tells of a new session when it is made is what it tells of it later.
func TestWhenASessionWasCreatedIsRemembered(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	info := listed(t, rack).info()
	info["redfish_auth_type"] = "session"
	b := &book{of: map[string]string{}}
	conf := quick()
	conf.Sessions = page{b, "c1"}
	require.NoError(t, power(t, newDriver(t, conf), info))
	for _, created := range b.made {
		_, err := time.Parse(time.RFC3339, created)
		require.NoError(t, err)
	}
	require.Len(t, b.made, 1)
}

// A BMC that has no room for a session does not say whether the password is right. Each session that is ended shows it.
func TestEndingLeftSessionsShowsAWrongPasswordOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.times(100, http.MethodPost, "Sessions", func(w http.ResponseWriter, _ *http.Request) {
		message(w, http.StatusServiceUnavailable, "Base.1.8.SessionLimitExceeded", "The session limit is exceeded.")
	})
	b := &book{of: map[string]string{}, dead: []string{"c1"}}
	for i := range 5 {
		b.of[fmt.Sprintf("/redfish/v1/SessionService/Sessions/%d", i)] = "c1"
	}
	f.times(100, http.MethodDelete, "", answer(http.StatusUnauthorized))
	conf := quick()
	conf.Sessions = page{b, "c2"}
	require.Error(t, power(t, newDriver(t, conf), f.info(map[string]any{"redfish_auth_type": "session"})))
	require.Equal(t, 1, f.count("DELETE "))
	require.Len(t, b.known(), 5)
}
