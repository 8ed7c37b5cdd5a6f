package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// An outage is one row, and the time of the database's is none of Temporal's.
func TestAnOutageIsRecordedWhenItIsOver(t *testing.T) {
	t.Parallel()
	c := clock(t)
	recorded := func(part node.OutagePart) []float64 {
		return ask[[]float64](t, c.url, fmt.Sprintf("SELECT coalesce(array_agg(extract(epoch FROM until_at - from_at)::float8 ORDER BY id), ARRAY[]::float8[]) FROM outages WHERE part = '%s'", part))
	}
	c.witness(true)
	c.run(30 * time.Second)
	require.Empty(t, recorded(node.OutageOfPostgreSQL))
	c.pass(time.Minute)
	c.witness(false)
	c.pass(3 * time.Second)
	c.witness(true)
	require.Len(t, recorded(node.OutageOfPostgreSQL), 1)
	require.InDelta(t, 60, recorded(node.OutageOfPostgreSQL)[0], 5)
	require.Empty(t, recorded(node.OutageOfTemporal), "nobody could record a contact")

	n := create(t, c.s, node.Available)
	o, err := c.s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Open: &node.Operation{Kind: node.KindPower, Steps: []node.Step{{Interface: "power", Step: "on"}}}, Apply: func(*node.Node) {}}, nil
	})
	require.NoError(t, err)
	for range 10 {
		c.pass(3 * time.Second)
		c.witness(false)
	}
	raw(t, c.url, "UPDATE operations SET accepted_at = accepted_at - interval '10 seconds'")
	goesOn, err := c.s.Outages(t.Context(), o.ID)
	require.NoError(t, err)
	require.Len(t, goesOn, 2)
	require.Equal(t, node.OutageOfTemporal, goesOn[1].Part)
	require.Nil(t, goesOn[1].Until)
	require.WithinDuration(t, time.Now().Add(-30*time.Second), goesOn[1].From, 5*time.Second)
	c.witness(true)
	require.Len(t, recorded(node.OutageOfTemporal), 1)
	require.InDelta(t, 30, recorded(node.OutageOfTemporal)[0], 5)
	over, err := c.s.Outages(t.Context(), o.ID)
	require.NoError(t, err)
	require.Len(t, over, 2)
	require.NotNil(t, over[1].Until)

	raw(t, c.url, "INSERT INTO outages (part, from_at, until_at) SELECT 'temporal', now() - interval '1 day', now() - interval '1 day' + i * interval '1 second' FROM generate_series(1, 1500) i")
	c.pass(time.Minute)
	c.witness(true)
	require.LessOrEqual(t, len(recorded(node.OutageOfTemporal)), 1000, "the latest are kept")
}

// A conductor may reach Temporal before any orchestrator does.
func TestAnOutageOfTemporalIsRecordedByWhoeverReachesItFirst(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(c *clocked){
		"an orchestrator":                         func(c *clocked) { c.witness(true) },
		"a conductor":                             func(c *clocked) { c.beat(true, "a") },
		"a conductor that was started during it":  func(c *clocked) { c.register("b") },
		"a conductor, and then the other of both": func(c *clocked) { c.beat(true, "a", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clock(t)
			c.register("a", "b")
			c.witness(true)
			c.run(6*time.Second, "a", "b")
			for range 7 {
				c.pass(3 * time.Second)
				c.beat(false, "a", "b")
				c.witness(false)
			}
			first(c)
			c.witness(true)
			c.beat(true, "a", "b")
			lengths := ask[[]float64](t, c.url, "SELECT array_agg(extract(epoch FROM until_at - from_at)::float8) FROM outages")
			require.Len(t, lengths, 1)
			require.InDelta(t, 21, lengths[0], 4)

			c.pass(time.Minute) // nobody reaches the database
			c.beat(true, "a")
			c.witness(true)
			require.Equal(t, []string{"temporal", "postgresql"}, ask[[]string](t, c.url, "SELECT array_agg(part ORDER BY id) FROM outages"), "that one is not Temporal's")
		})
	}
}

// The time in which nothing could go on is no time that a step takes. What two parts were away at the same time counts once.
func TestAnOutageDoesNotMakeAStepLate(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Open: &node.Operation{Kind: node.KindPower, Steps: []node.Step{{Interface: "power", Step: "on"}}}, Apply: func(*node.Node) {}}, nil
	})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	usual := time.Now().Add(-20 * time.Second).UTC().Truncate(time.Microsecond)
	claim := func(attempt int32) *node.Operation {
		n, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 1, Attempt: attempt}, time.Time{}, "c1")
		require.NoError(t, err)
		return n.Operation
	}
	op := claim(1)
	_, err = s.SaveSteps(t.Context(), o.ID, op.Claim, node.Progress{Steps: op.Steps, UsualUntil: &usual, Phase: node.Running})
	require.NoError(t, err)
	late := func() int {
		found, err := s.Attention(t.Context(), node.AttentionFilter{Reason: node.ReasonLate, Nodes: []string{n.UUID}})
		require.NoError(t, err)
		return len(found)
	}
	require.Equal(t, 1, late())
	raw(t, url, "UPDATE witness SET contact_at = clock_timestamp() - interval '1 minute'")
	require.Zero(t, late(), "nothing goes on without Temporal")
	raw(t, url, "UPDATE witness SET contact_at = clock_timestamp()")
	raw(t, url, "UPDATE operations SET claimed_at = clock_timestamp() - interval '5 minutes'")
	raw(t, url, `INSERT INTO outages (part, from_at, until_at) SELECT p, now() - '10 minutes'::interval, now() - f::interval
		FROM (VALUES ('temporal', '4 minutes'), ('postgresql', '3 minutes'), ('temporal', '9 minutes')) AS x (p, f)`)
	op = claim(2)
	require.WithinDuration(t, usual.Add(2*time.Minute), *op.UsualUntil, 5*time.Second, "from the claim before to the end of the longest")
	require.Zero(t, late())
	require.WithinDuration(t, *op.UsualUntil, *claim(3).UsualUntil, 0, "once")

	raw(t, url, "DELETE FROM outages")
	raw(t, url, "UPDATE operations SET claimed_at = clock_timestamp() - interval '5 minutes'")
	began := time.Now().Add(-time.Minute)
	op.Steps[0].State, op.Steps[0].StartedAt = node.StepRunning, &began
	_, err = s.SaveSteps(t.Context(), o.ID, node.Claim{Seq: 1, Attempt: 3}, node.Progress{Steps: op.Steps, UsualUntil: &usual, Phase: node.Running})
	require.NoError(t, err)
	raw(t, url, "INSERT INTO outages (part, from_at, until_at) VALUES ('temporal', now() - interval '4 minutes', now() - interval '2 minutes')")
	require.WithinDuration(t, usual, *claim(4).UsualUntil, time.Millisecond, "it was over when the step began")
}
