package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// told are the events so far, as "type word" with the most telling field of each.
func told(t testing.TB, s *store.Store, f events.Filter) (out []string) {
	t.Helper()
	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Filter: f, Limit: 1000})
	require.NoError(t, err)
	for _, e := range list {
		line := e.Type
		for _, field := range []string{"outcome", "step", "provision_state", "waiting_for", "asked", "to", "paused_by", "to_power", "power_state", "maintenance", "changed"} {
			if v, ok := e.Data[field]; ok {
				line += fmt.Sprintf(" %v", v)
			}
		}
		out = append(out, line)
	}
	return out
}

// save saves progress under a claim.
func save(t testing.TB, s *store.Store, id int64, c node.Claim, p node.Progress) {
	t.Helper()
	_, err := s.SaveSteps(t.Context(), id, c, p)
	require.NoError(t, err)
}

func TestAnOperationTellsItsStory(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	steps := slices.Clone(o.Steps)
	save := func(claim node.Claim, p node.Progress) {
		t.Helper()
		p.Steps = slices.Clone(steps)
		save(t, s, o.ID, claim, p)
	}
	steps[0].State, steps[0].Attempts, steps[0].Conductor = node.StepRunning, 1, "c1"
	save(first, node.Progress{})
	save(first, node.Progress{}) // nothing new
	steps[0].Failures, steps[0].LastError = 1, "get http://me:hunter2@images/x: 503"
	save(first, node.Progress{})
	_, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 2, Attempt: 1}, time.Time{}, "c2")
	require.NoError(t, err)
	second := node.Claim{Seq: 2, Attempt: 1}
	steps[0].Attempts, steps[0].Conductor = 2, "c2"
	save(second, node.Progress{})
	save(second, node.Progress{Phase: node.Waiting, WaitingFor: "the agent"})
	save(second, node.Progress{Phase: node.Running, Power: node.PowerOn})
	require.NoError(t, maintain(t, s, n.UUID, true, "look", "bob"))
	require.NoError(t, maintain(t, s, n.UUID, false, "", "bob"))
	steps[0].State = node.StepDone
	save(second, node.Progress{Power: node.PowerOff})
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Succeeded})
	require.NoError(t, err)
	require.Equal(t, []string{
		"baremetal.node.create.end available",
		"baremetal.node.provision_set.start deploying",
		"operation.accepted",
		"operation.begun",
		"step.begun deploy",
		"step.failed deploy",
		"operation.handed_over c2",
		"step.begun deploy",
		"operation.waiting the agent",
		"operation.running",
		"baremetal.node.maintenance_set.end true",
		"operation.paused maintenance",
		"baremetal.node.maintenance_set.end false",
		"operation.unpaused",
		"step.ended deploy",
		"baremetal.node.power_set.end power off",
		"baremetal.node.provision_set.end active",
		"operation.ended succeeded",
	}, told(t, s, events.Filter{NodeUUID: n.UUID}))
	require.Len(t, told(t, s, events.Filter{Types: []string{"operation"}, Operations: []int64{o.ID}, Kinds: []string{"deploy"}}), 8)
	require.Empty(t, told(t, s, events.Filter{Causes: []string{"none"}}))

	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Limit: 1000})
	require.NoError(t, err)
	for _, e := range list {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "hunter2")
	}
}

// What events say of a failure is what the operation's row says: the same words, the same cause, the same state.
func TestEventsOfAFailureHaveItsCauseAndItsWords(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	why := node.Failure{Error: "401 Unauthorized from the BMC", Cause: fault.BMCWrongPassword}
	steps := slices.Clone(o.Steps)
	steps[0].State, steps[0].Attempts, steps[0].Failures, steps[0].LastError, steps[0].Cause = node.StepFailed, 1, 1, why.Error, why.Cause
	save(t, s, o.ID, first, node.Progress{Steps: steps})
	require.NoError(t, s.SetUndo(t.Context(), o.ID, "r1", []node.Undo{node.UndoPowerOff}, why))
	save(t, s, o.ID, first, node.Progress{Steps: steps, Phase: node.Undoing})
	undoing, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: why.Error, Cause: why.Cause})
	require.NoError(t, err)
	ended, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)

	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Limit: 1000, Filter: events.Filter{NodeUUID: n.UUID, Causes: []string{string(fault.BMCWrongPassword)}}})
	require.NoError(t, err)
	var types []string
	for _, e := range list {
		types = append(types, e.Type)
		require.Equal(t, ended.Error, e.Data["error"], e.Type)
		require.EqualValues(t, ended.Cause, e.Cause, e.Type)
	}
	require.Equal(t, []string{"step.failed", "operation.undoing", "operation.ended"}, types)
	require.EqualValues(t, undoing.State(), list[1].Data["state"])
	require.EqualValues(t, ended.State(), list[2].Data["state"])

	holding, o := running(t, s)
	_, err = s.Direct(t.Context(), o.ID, func(n *node.Node) (node.OperationChange, error) {
		now := time.Now()
		return node.OperationChange{}, n.Operation.HoldAt(&n.Operation.Steps[0], why, "a decision", node.Claim{Seq: 2}, now, now.Add(time.Hour))
	})
	require.NoError(t, err)
	list, _, err = s.Events(t.Context(), events.Query{Through: 1 << 40, Limit: 1000, Filter: events.Filter{NodeUUID: holding.UUID, Types: []string{"operation.holding"}}})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.EqualValues(t, why.Cause, list[0].Cause)
	require.Equal(t, why.Error, list[0].Data["error"])
	require.Equal(t, "a decision", list[0].Data["waiting_for"])
	require.NotEmpty(t, list[0].Data["waiting_until"])
}

// A value of a node's dictionaries may be secret, so only the names of what changed are told.
func TestNodesTellWhatChangedWithoutValues(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	_, err := s.UpdateNode(t.Context(), n.UUID, "bob", func(n *node.Node) (node.Secrets, error) {
		n.Name, n.Extra, n.DriverInfo = "other", map[string]any{"k": "hunter2"}, map[string]any{"redfish_password": "******"}
		return node.Secrets{"driver_info/redfish_password": "hunter2"}, nil
	})
	require.NoError(t, err)
	_, err = s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, State: node.PowerOn}) // the first reading
	require.NoError(t, err)
	now, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	_, err = s.RecordPower(t.Context(), node.PowerSeen{UUID: n.UUID, State: node.PowerOff, ReadAt: now.PowerReadAt})
	require.NoError(t, err)
	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "bob", func(*node.Node) error { return nil }))
	require.Equal(t, []string{
		"baremetal.node.create.end available",
		"baremetal.node.update.end [name driver_info extra]",
		"baremetal.node.power_state_corrected.success power off",
		"baremetal.node.delete.end available",
	}, told(t, s, events.Filter{NodeUUID: n.UUID}))
	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Limit: 1000})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(list), "hunter2")
	require.Equal(t, "other", list[len(list)-1].NodeName)
}

// Every column that a user may set is either told or has an event of its own.
func TestEveryColumnThatAPatchWritesIsTold(t *testing.T) {
	t.Parallel()
	own := []string{"maintenance", "maintenance_reason", "fault", "protected_reason", "retired_reason"} // the reasons come with protected and retired
	for _, c := range store.PatchedColumns() {
		if !slices.Contains(own, c) {
			told := (&node.Node{}).Tell(&node.Node{}, []string{c})
			require.Len(t, told, 1, c)
			require.Equal(t, []string{c}, told[0].Data["changed"])
		}
	}
}

// followed is a hub over the store, and a stream of it that begins after the number; nil = now.
func followed(t *testing.T, s *store.Store, f events.Filter, after *int64) (*events.Hub, *events.Stream) {
	t.Helper()
	h := events.NewHub(events.Config{Source: s, Streams: 10, PerUser: 10})
	t.Cleanup(h.Close)
	stream, err := h.Open(t.Context(), "", f, after)
	require.NoError(t, err)
	t.Cleanup(stream.Close)
	return h, stream
}

var seqLine = regexp.MustCompile(`(?m)^id: (\d+)$`)

// collected reads a stream until it has n events, and returns their numbers.
func collected(t *testing.T, stream *events.Stream, n int) (seqs []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(seqs) < n {
		blocks, err := stream.Next(ctx)
		require.NoError(t, err, "%d of %d came", len(seqs), n)
		for _, m := range seqLine.FindAllStringSubmatch(string(blocks), -1) {
			seqs = append(seqs, m[1])
		}
	}
	return seqs
}

func tx(t *testing.T, url string) pgx.Tx {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	x, err := c.Begin(t.Context())
	require.NoError(t, err)
	return x
}

// A lower number may become visible after a higher one. Nobody passes it, whichever process he follows.
func TestNoReaderPassesATransactionThatMayStillCommit(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, one := followed(t, s, events.Filter{}, nil)
	_, other := followed(t, connect(t, store.Config{URL: url, Keyset: keyset}), events.Filter{}, nil)
	late := tx(t, url)
	_, err := late.Exec(t.Context(), `INSERT INTO events (type) VALUES ('late')`)
	require.NoError(t, err)
	raw(t, url, `INSERT INTO events (type) VALUES ('early')`)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = one.Next(short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the higher number is there, the lower one is not")
	require.NoError(t, late.Commit(t.Context()))
	require.Equal(t, []string{"1", "2"}, collected(t, one, 2))
	require.Equal(t, []string{"1", "2"}, collected(t, other, 2))
}

// A stream that begins while a transaction is open begins before it, or waits for it.
func TestAStreamDoesNotBeginBehindAnOpenTransaction(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	late := tx(t, url)
	_, err := late.Exec(t.Context(), `INSERT INTO events (type) VALUES ('late')`)
	require.NoError(t, err)
	h := events.NewHub(events.Config{Source: s, Streams: 10, PerUser: 10})
	t.Cleanup(h.Close)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = h.Open(short, "", events.Filter{}, nil)
	require.Error(t, err, "it can't be known yet where it begins")
	waits := make(chan *events.Stream, 1)
	go func() {
		stream, err := h.Open(t.Context(), "", events.Filter{}, nil)
		if err == nil {
			waits <- stream
		}
		close(waits)
	}()
	require.NoError(t, late.Commit(t.Context()))
	stream, ok := <-waits
	require.True(t, ok)
	defer stream.Close()
	require.EqualValues(t, 1, stream.At())
}

// Dumps, autovacuum, other databases: whoever writes no events holds nobody up.
func TestForeignTransactionsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	foreign := tx(t, url)
	_, err := foreign.Exec(t.Context(), `CREATE TABLE of_somebody_else AS SELECT count(*) FROM events`) // it has a transaction id, and reads events
	require.NoError(t, err)
	_, stream := followed(t, s, events.Filter{}, nil)
	raw(t, url, `INSERT INTO events (type) VALUES ('x')`)
	require.Equal(t, []string{"1"}, collected(t, stream, 1))
	require.NoError(t, foreign.Rollback(t.Context()))
}

// Many writers whose transactions take different times, some of which are rolled back; readers of several processes, one of
// which begins in the middle. All get all, in order.
func TestReadersGetEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, one := followed(t, s, events.Filter{}, nil)
	_, other := followed(t, connect(t, store.Config{URL: url, Keyset: keyset}), events.Filter{}, nil)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			c, err := pgx.Connect(t.Context(), url)
			if err != nil {
				return
			}
			defer func() { _ = c.Close(context.Background()) }()
			for i := range 40 {
				end := "COMMIT"
				if (i+w)%5 == 0 {
					end = "ROLLBACK"
				}
				_, _ = c.Exec(t.Context(), fmt.Sprintf(`BEGIN; INSERT INTO events (type) VALUES ('a'), ('b'); SELECT pg_sleep(%f); INSERT INTO events (type) VALUES ('c'); %s`, float64(w)/500, end))
			}
		})
	}
	got := collected(t, one, 50)
	begin := int64(0)
	_, err := fmt.Sscan(got[len(got)-1], &begin)
	require.NoError(t, err)
	_, resumed := followed(t, s, events.Filter{}, &begin)
	writers.Wait()
	want := ask[[]string](t, url, `SELECT array_agg(seq::text ORDER BY seq) FROM events`)
	require.Len(t, want, 8*32*3)
	got = append(got, collected(t, one, len(want)-len(got))...)
	require.Equal(t, want, got)
	require.Equal(t, want, collected(t, other, len(want)))
	at := slices.Index(want, fmt.Sprint(begin)) + 1
	require.Equal(t, want[at:], collected(t, resumed, len(want)-at))
}

func TestOldEventsAreReadFromTheDatabaseAndThoseThatAreGoneAreTold(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	raw(t, url, `INSERT INTO events (type, kind) SELECT 't', CASE WHEN n % 1000 = 0 THEN 'deploy' ELSE '' END FROM generate_series(1, 60000) n`)
	h, rare := followed(t, s, events.Filter{Kinds: []string{"deploy"}}, ptr(int64(0)))
	require.Len(t, collected(t, rare, 60), 60, "through more numbers than a statement reads")
	all, err := h.Open(t.Context(), "", events.Filter{}, ptr(int64(58000)))
	require.NoError(t, err)
	defer all.Close()
	require.Len(t, collected(t, all, 2000), 2000)

	gone, err := s.ForgetEvents(t.Context(), time.Hour, 50_000)
	require.NoError(t, err)
	require.Equal(t, 10_000, gone)
	gone, err = s.ForgetEvents(t.Context(), time.Hour, 50_000)
	require.NoError(t, err)
	require.Zero(t, gone)
	raw(t, url, `UPDATE events SET at = at - interval '2 hours' WHERE seq <= 12000`)
	gone, err = s.ForgetEvents(t.Context(), time.Hour, 50_000)
	require.NoError(t, err)
	require.Equal(t, 2000, gone)
	for name, after := range map[string]int64{"deleted": 11_999, "of another database": 70_000} {
		_, stream := followed(t, s, events.Filter{}, &after)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		blocks, err := stream.Next(ctx)
		cancel()
		require.NoError(t, err, name)
		require.Equal(t, fmt.Sprintf("id: 60000\nevent: reset\ndata: {\"after\":%d,\"oldest\":12001,\"seq\":60000}\n\n", after), string(blocks), name)
	}
	for _, after := range []int64{12_000, events.FromOldest} {
		_, kept := followed(t, s, events.Filter{}, &after)
		require.Equal(t, "12001", collected(t, kept, 1)[0], "after %d", after)
	}
}

// The statement reads a range of the primary key, so it takes the same time whatever is asked for.
func TestEventsAreReadByTheirNumber(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	raw(t, url, `INSERT INTO events (type) SELECT 't' FROM generate_series(1, 100000)`)
	raw(t, url, `ANALYZE events`)
	for _, f := range []events.Filter{{}, {NodeUUID: someUUID()}} {
		sql, args := store.EventsStatement(events.Query{After: 90_000, Through: 95_000, Limit: 500, Filter: f})
		rows, err := beside(t, url).Query(t.Context(), "EXPLAIN (COSTS OFF) "+sql, args)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Contains(t, strings.Join(lines, "\n"), "events_pkey")
		require.NotContains(t, strings.Join(lines, "\n"), "Seq Scan")
	}
}

// Transactions with a notification commit one after the other, so there is none while nobody follows.
func TestNobodyIsNotifiedWhileNobodyFollows(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	listener := tx(t, url)
	require.NoError(t, listener.Rollback(t.Context()))
	_, err := listener.Conn().Exec(t.Context(), `LISTEN temper_events`)
	require.NoError(t, err)
	raw(t, url, `INSERT INTO events (type) VALUES ('unheard')`)
	_, err = listener.Conn().Exec(t.Context(), `SELECT`)
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = listener.Conn().WaitForNotification(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, stream := followed(t, s, events.Filter{}, nil)
	raw(t, url, `INSERT INTO events (type) VALUES ('heard')`)
	long, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	_, err = listener.Conn().WaitForNotification(long)
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, collected(t, stream, 1))
}

func TestStreamsLiveThroughTheLossOfTheirConnection(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, stream := followed(t, s, events.Filter{}, nil)
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% events') x`),
		"one connection")
	raw(t, url, `INSERT INTO events (type) VALUES ('meanwhile')`)
	require.Equal(t, []string{"1"}, collected(t, stream, 1))
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	h := events.NewHub(events.Config{Source: s, Streams: 3, PerUser: 2})
	t.Cleanup(h.Close)
	var streams []*events.Stream
	for _, user := range []string{"ann", "ann"} {
		stream, err := h.Open(t.Context(), user, events.Filter{}, nil)
		require.NoError(t, err)
		streams = append(streams, stream)
	}
	_, err := h.Open(t.Context(), "ann", events.Filter{}, nil)
	require.ErrorContains(t, err, "event_streams_per_user")
	bob, err := h.Open(t.Context(), "bob", events.Filter{}, nil)
	require.NoError(t, err)
	_, err = h.Open(t.Context(), "carol", events.Filter{}, nil)
	require.ErrorContains(t, err, "as many as event_streams allows")
	require.Equal(t, events.Health{Streams: 3, Refused: 2}, h.Health())
	streams[0].Close()
	again, err := h.Open(t.Context(), "ann", events.Filter{}, nil)
	require.NoError(t, err)
	for _, stream := range []*events.Stream{again, bob, streams[1], streams[0]} {
		stream.Close()
	}
	require.Zero(t, h.Health().Streams)
}

// The table of types has those that the code names, and the documentation has them all.
func TestEveryTypeOfEventsIsDocumented(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`["']((?:baremetal|node|operation|step)\.[a-z_.]+)["']`)
	found := 0
	for _, folder := range []string{".", "../node"} {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				found++
				require.True(t, events.IsType(strings.TrimSuffix(m[1], ".")), "%s: %s", file, m[1])
			}
		}
	}
	require.NotZero(t, found)
	page, err := os.ReadFile("../../docs/events.md")
	require.NoError(t, err)
	for _, kind := range events.Types {
		last := kind[strings.LastIndex(kind, ".")+1:]
		require.Regexp(t, "`(?:"+regexp.QuoteMeta(kind)+"|\\."+last+")`", string(page), kind)
	}
}
