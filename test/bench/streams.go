package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/test/stack"
)

// The load of benchStreams.
const (
	streams       = 1000
	streamChanges = 200 // of nodes, each an event
	streamEvery   = 50 * time.Millisecond
)

// benchStreams measures what event streams cost one API process, and how soon events come.
func benchStreams(ctx context.Context, o options) error {
	fmt.Printf("# %d event streams on one API process; goal: one database connection and under 100 MiB\n", streams)
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "0", "--enroll=false", "--conductors", "1", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	if err := s.Prepare(ctx, 1); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	if err := changeNode(ctx, s, nodes[0].UUID, streamChanges); err != nil { // so that the pool and the heap have their usual size
		return err
	}
	api := s.Of("api")[0].PID
	before := rssOf(api)
	conns, err := connections(ctx, db)
	if err != nil {
		return err
	}
	f := followers{address: s.APIURL}
	stop, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer stop()
	opened := rssOf(api)
	if err := changeNode(ctx, s, nodes[0].UUID, streamChanges); err != nil {
		return err
	}
	if err := f.await(ctx, streams*streamChanges); err != nil {
		return err
	}
	after, err := connections(ctx, db)
	if err != nil {
		return err
	}
	fmt.Printf("  database connections that follow events: %d before, %d with the streams; of all processes: %d, %d\n", conns.events, after.events, conns.all, after.all)
	fmt.Printf("  resident memory of the API: %s before, +%s with the streams, +%s after %d events to each, at most %s\n",
		mib(before), mib(opened-before), mib(rssOf(api)-before), streamChanges, mib(peakOf(api)))
	fmt.Printf("  from an event's writing to its arrival, %d arrivals: median %s, 99 %% %s, longest %s\n",
		len(f.delays), f.quantile(0.5), f.quantile(0.99), f.quantile(1))
	return nil
}

func mib(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }

// changeNode changes the description of a node so often, one request after the other.
func changeNode(ctx context.Context, s *stack.Stack, uuid string, times int) error {
	for n := range times {
		patch := []map[string]any{{"op": "add", "path": "/description", "value": fmt.Sprintf("%d at %s", n, time.Now())}}
		if err := s.Call(ctx, http.MethodPatch, "/v1/nodes/"+uuid, patch, nil); err != nil {
			return err
		}
		time.Sleep(streamEvery)
	}
	return nil
}

type connectionCount struct{ events, all int }

func connections(ctx context.Context, db *pgx.Conn) (c connectionCount, err error) {
	return c, db.QueryRow(ctx, `SELECT count(*) FILTER (WHERE application_name LIKE '% events'), count(*)
		FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&c.events, &c.all)
}

// followers are clients with an event stream each. They measure how soon the changes of nodes come.
type followers struct {
	address string

	mu     sync.Mutex
	delays []time.Duration
	failed error
}

// open opens the streams, and returns when each has begun.
func (f *followers) open(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var ready, done sync.WaitGroup
	ready.Add(streams)
	web := &http.Client{Transport: &http.Transport{}}
	for range streams {
		done.Go(func() {
			if err := f.follow(ctx, web, sync.OnceFunc(ready.Done)); err != nil && ctx.Err() == nil {
				f.mu.Lock()
				f.failed = err
				f.mu.Unlock()
			}
		})
	}
	ready.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return func() { cancel(); done.Wait() }, f.failed
}

func (f *followers) follow(ctx context.Context, web *http.Client, begun func()) error {
	defer begun()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address+"/temper/v1/events?type=baremetal.node.update", nil)
	if err != nil {
		return err
	}
	res, err := web.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("open a stream: %s", res.Status)
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "id: ") {
			begun()
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e client.StreamEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return err
			}
			delay := time.Since(e.At)
			f.mu.Lock()
			f.delays = append(f.delays, delay)
			f.mu.Unlock()
		}
	}
	return fmt.Errorf("a stream has ended")
}

// await waits until so many events have come, over all streams.
func (f *followers) await(ctx context.Context, n int) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		f.mu.Lock()
		have, failed := len(f.delays), f.failed
		f.mu.Unlock()
		switch {
		case failed != nil:
			return failed
		case ctx.Err() != nil:
			return ctx.Err()
		case have >= n:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d of %d events have come", have, n)
		}
	}
}

func (f *followers) quantile(q float64) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.delays)
	return f.delays[int(q*float64(len(f.delays)-1))].Round(100 * time.Microsecond)
}
