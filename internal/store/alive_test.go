package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// beat is a heartbeat of a conductor that reaches Temporal.
func beat(t testing.TB, s *store.Store, name string, incarnation int64) error {
	_, err := s.HeartbeatConductor(t.Context(), name, incarnation, true)
	return err
}

// clocked is a database whose stored times a test shifts. Shifting all of them into the
// past has the same effect as time in which nobody writes. The time that the test itself takes
// counts as part of what passes, so that a slow machine changes nothing.
type clocked struct {
	t    testing.TB
	s    *store.Store
	url  string
	inc  map[string]int64
	mine time.Time
	at   time.Time // when time passed last
}

func clock(t testing.TB) *clocked {
	s, url := expiring(t)
	return &clocked{t: t, s: s, url: url, inc: map[string]int64{}, at: time.Now()}
}

func (c *clocked) register(names ...string) {
	c.t.Helper()
	for _, n := range names {
		c.at = time.Now() // what the test did before is no time of the conductor's
		i, err := c.s.RegisterConductor(c.t.Context(), coverage.Conductor{Hostname: n, Interfaces: map[string]map[string][]string{"fake-hardware": {}}})
		require.NoError(c.t, err)
		c.inc[n] = i
	}
}

// beat sends a heartbeat of each conductor; contact says whether they reach Temporal.
func (c *clocked) beat(contact bool, names ...string) {
	c.t.Helper()
	for _, n := range names {
		_, err := c.s.HeartbeatConductor(c.t.Context(), n, c.inc[n], contact)
		require.NoError(c.t, err)
	}
}

// witness writes as a witness that has lived since its last call.
func (c *clocked) witness(contact bool) store.Seen {
	c.t.Helper()
	seen, err := c.s.Witness(c.t.Context(), c.mine, contact)
	require.NoError(c.t, err)
	c.mine = seen.At
	return seen
}

// pass lets time pass in which nobody writes. A negative d steps the clock back.
func (c *clocked) pass(d time.Duration) {
	c.t.Helper()
	now := time.Now()
	d, c.at = d-now.Sub(c.at), now
	by := fmt.Sprintf("- interval '%d milliseconds'", d.Milliseconds())
	raw(c.t, c.url, "UPDATE conductors SET heartbeat_at = heartbeat_at "+by+", polled_at = polled_at "+by)
	raw(c.t, c.url, "UPDATE witness SET seen_at = seen_at "+by+", gap_from = gap_from "+by+", gap_until = gap_until "+by+
		", contact_at = contact_at "+by+", contact_from = contact_from "+by+", contact_until = contact_until "+by)
	c.mine = c.mine.Add(-d)
}

// run lets time pass in which a witness writes and reaches Temporal.
func (c *clocked) run(d time.Duration, alive ...string) {
	c.t.Helper()
	for ; d > 0; d -= time.Second { // so that a machine that stands still for some seconds makes no gap between two witnesses
		c.pass(min(d, time.Second))
		c.witness(true)
		c.beat(true, alive...)
	}
}

func (c *clocked) alive() []string {
	c.t.Helper()
	all, err := c.s.Conductors(c.t.Context())
	require.NoError(c.t, err)
	out := []string{}
	for _, k := range all {
		if k.Alive {
			out = append(out, k.Hostname)
		}
	}
	require.Equal(c.t, out, whoCovers(c.t, c.s, c.url, &node.Node{Driver: "fake-hardware"}), "everybody who asks is told the same")
	return out
}

var both = []string{"a", "b"}

func TestASilentConductorIsDeadAfterTheTimeout(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register(both...)
	c.witness(true)
	c.run(14*time.Second, "b")
	require.Equal(t, both, c.alive())
	c.run(2*time.Second, "b")
	require.Equal(t, []string{"b"}, c.alive())
	c.beat(true, "a")
	require.Equal(t, both, c.alive(), "and is back with its next heartbeat")
}

func TestWhoRegistersAfterEverythingWasStoppedIsAliveAtOnce(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register("a")
	c.witness(true)
	require.NoError(t, c.s.StopConductor(t.Context(), "a", c.inc["a"]))
	c.pass(time.Hour)
	c.register("a")
	require.Equal(t, []string{"a"}, c.alive(), "before anybody else has written that it reaches Temporal")
}

// Only the API runs. It is a witness, so conductors that are silent meanwhile are dead.
func TestWithEverythingButTheAPIDeadNobodyGetsGrace(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register(both...)
	c.witness(false)
	for range 5 {
		c.pass(4 * time.Second)
		c.witness(false)
	}
	require.Empty(t, c.alive())
}

func TestADatabaseThatWasAwayExpiresNobody(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{8 * time.Second, time.Minute, time.Hour} {
		t.Run(away.String(), func(t *testing.T) {
			c := clock(t)
			c.register("a", "b", "dead")
			c.witness(true)
			c.run(16*time.Second, both...)
			require.Equal(t, both, c.alive())
			c.pass(away)
			require.Equal(t, both, c.alive(), "before anybody has looked at the clock")
			seen := c.witness(true)
			require.True(t, seen.Gap)
			require.InDelta(t, away.Seconds(), seen.For.Seconds(), 1)
			c.run(12*time.Second, "b")
			require.Equal(t, both, c.alive(), "for one timeout")
			c.run(4*time.Second, "b")
			require.Equal(t, []string{"b"}, c.alive(), "and then silence is silence")
		})
	}
}

func TestAClockThatStepsBackExpiresNobodyAndRevivesNobody(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register("a", "b")
	c.witness(true)
	c.run(6*time.Second, both...)
	c.pass(-time.Hour)
	require.Equal(t, both, c.alive(), "before anybody has looked at the clock")
	seen := c.witness(true)
	require.True(t, seen.Gap)
	require.Negative(t, seen.For)
	require.Equal(t, both, c.alive())
	c.run(16*time.Second, "b")
	require.Equal(t, []string{"b"}, c.alive(), "a heartbeat of the future is no heartbeat")
}

// A process that was just started can't tell whether the database was away or all conductors
// died, so it gives them no grace. A process that has lived through the gap can tell.
func TestOnlyAProcessThatLivedThroughAGapGivesGrace(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register(both...)
	c.witness(true)
	c.run(3*time.Second, both...)
	c.pass(time.Minute)
	survivor := c.mine
	c.mine = time.Time{}
	require.True(t, c.witness(true).Gap)
	require.Empty(t, c.alive())
	require.Equal(t, []string{"a", "b"}, c.kept(), "reconciliation takes nothing away from them yet")
	c.mine = survivor
	c.witness(true)
	require.Equal(t, both, c.alive())
	c.run(16 * time.Second)
	require.Empty(t, c.alive())
	require.Empty(t, c.kept())
}

func (c *clocked) kept() []string {
	c.t.Helper()
	out, err := store.Kept(c.t.Context(), c.s)
	require.NoError(c.t, err)
	return out
}

func TestAConductorThatIsCutOffFromTemporalLeaves(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register(both...)
	c.witness(true)
	for range 4 {
		c.pass(3 * time.Second)
		c.witness(true)
		c.beat(false, "a")
		c.beat(true, "b")
	}
	require.Equal(t, both, c.alive())
	c.pass(3500 * time.Millisecond)
	c.beat(true, "b") // a conductor's own heartbeat shows that Temporal can be reached
	c.beat(false, "a")
	require.Equal(t, []string{"b"}, c.alive())
	c.beat(true, "a")
	require.Equal(t, both, c.alive(), "and comes back by itself")
}

func TestTemporalsAbsenceExpiresNobody(t *testing.T) {
	t.Parallel()
	c := clock(t)
	c.register("a", "b", "cut off")
	c.witness(true)
	for range 6 {
		c.pass(3 * time.Second)
		c.witness(true)
		c.beat(true, both...)
		c.beat(false, "cut off")
	}
	require.Equal(t, both, c.alive())
	for range 30 {
		c.pass(3 * time.Second)
		c.witness(false)
		c.beat(false, "a", "b", "cut off")
		require.Equal(t, both, c.alive(), "while it is away")
	}
	c.pass(3 * time.Second)
	c.beat(true, "b") // the first conductor that reaches it again
	require.Equal(t, both, c.alive())
	for range 4 {
		c.pass(3 * time.Second)
		c.witness(true)
		c.beat(false, "a")
		c.beat(true, "b")
		require.Equal(t, both, c.alive(), "for one timeout")
	}
	c.pass(3500 * time.Millisecond)
	c.witness(true)
	c.beat(false, "a")
	c.beat(true, "b")
	require.Equal(t, []string{"b"}, c.alive())
}
