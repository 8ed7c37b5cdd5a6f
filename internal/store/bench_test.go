package store_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// BenchmarkDeploys writes what a deploy writes, from the request to its close, for 100
// deploys at once, on a cluster with all of PostgreSQL's durability. One
// operation is nine transactions: request, begin, claim, five saves of steps
// with a check of the claim before each, close. Two of the saves move the node, and
// take two round trips each.
func BenchmarkDeploys(b *testing.B) {
	benchDeploys(b, func() context.Context { return b.Context() })
}

// BenchmarkDeploysAudited is BenchmarkDeploys with the row of the audit that a request of the API has.
func BenchmarkDeploysAudited(b *testing.B) {
	benchDeploys(b, func() context.Context {
		ctx, _ := audit.Begin(b.Context(), audit.Entry{
			User: "ann", Method: access.HTTPBasic, From: "192.0.2.1", RequestID: "req-" + uuid.NewString(),
			Rule: "baremetal:node:set_provision_state", Route: "PUT /v1/nodes/:node/states/provision", What: []string{"active"},
		})
		return ctx
	})
}

func benchDeploys(b *testing.B, request func() context.Context) {
	s := benchStore(b)
	const nodes = 100
	uuids := make(chan string, nodes)
	for range nodes {
		uuids <- create(b, s, node.Available).UUID
	}
	var done atomic.Int64
	b.SetParallelism(nodes / 2) // times GOMAXPROCS
	b.ResetTimer()
	start := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			uuid := <-uuids
			deployOnce(b, s, request(), uuid, fmt.Sprint(done.Add(1)))
			uuids <- uuid
		}
	})
	b.ReportMetric(float64(done.Load())/time.Since(start).Seconds(), "deploys/s")
	b.ReportMetric(0, "ns/op")
}

func deployOnce(b *testing.B, s *store.Store, request context.Context, uuid, run string) {
	ctx := b.Context()
	steps := []node.Step{}
	for i, name := range []string{"prepare", "deploy", "write_image", "prepare_instance_boot", "tear_down_agent", "boot_instance"} {
		steps = append(steps, node.Step{Index: i, Interface: "deploy", Step: name, Priority: 100 - i, Source: node.SourceDriver, State: node.StepPending})
	}
	o, err := s.Request(request, uuid, func(n *node.Node) (*node.Request, error) {
		event := node.EventDeploy
		if n.ProvisionState == node.Active {
			event = node.EventRebuild
		}
		return &node.Request{Move: []node.Event{event}, Open: &node.Operation{Kind: node.KindDeploy, Target: node.Active, Steps: steps}}, nil
	})
	require.NoError(b, err)
	_, err = s.Begin(ctx, o.ID, o.WorkflowID, run)
	require.NoError(b, err)
	_, err = s.Claim(ctx, o.ID, run, first, time.Time{}, "conductor-1")
	require.NoError(b, err)
	for i, p := range []node.Progress{{Power: node.PowerOff}, {Move: node.EventWait, Phase: node.Waiting}, {Move: node.EventResume, Phase: node.Running}, {}, {Power: node.PowerOn}} {
		_, err = s.StartRequest(ctx, o.ID, first, node.BMCRequest{Name: "power On", Left: 4 * time.Second, AnswerWithin: 4 * time.Second})
		require.NoError(b, err)
		p.InFlight = &node.BMCRequest{}
		steps[i].State = node.StepDone
		p.Steps = steps
		_, err = s.SaveSteps(ctx, o.ID, first, p)
		require.NoError(b, err)
	}
	_, err = s.CloseOperation(ctx, node.End{Operation: o.ID, RunID: run, Outcome: node.Succeeded})
	require.NoError(b, err)
}

// BenchmarkOperations measures the statements of the hot path one by one, one at a time.
func BenchmarkOperations(b *testing.B) {
	s := benchStore(b)
	n := create(b, s, node.Available)
	o, err := s.Request(b.Context(), n.UUID, deploy)
	require.NoError(b, err)
	_, err = s.Begin(b.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(b, err)
	_, err = s.Claim(b.Context(), o.ID, "r1", first, time.Time{}, "c1")
	require.NoError(b, err)
	other := create(b, s, node.Available)
	for name, f := range map[string]func(i int) error{
		"CheckClaim": func(int) error { _, err := s.CheckClaim(b.Context(), o.ID, first); return err },
		"StartRequest": func(int) error {
			_, err := s.StartRequest(b.Context(), o.ID, first, node.BMCRequest{Name: "power On", Left: 4 * time.Second, AnswerWithin: 4 * time.Second})
			return err
		},
		"SaveStepsAnswered": func(int) error {
			_, err := s.SaveSteps(b.Context(), o.ID, first, node.Progress{InFlight: &node.BMCRequest{}})
			return err
		},
		"Node":      func(int) error { _, err := s.Node(b.Context(), n.UUID); return err },
		"SaveSteps": func(int) error { _, err := s.SaveSteps(b.Context(), o.ID, first, node.Progress{}); return err },
		"SaveStepsPower": func(int) error {
			_, err := s.SaveSteps(b.Context(), o.ID, first, node.Progress{Power: node.PowerOn})
			return err
		},
		"RequestAndClose": func(int) error {
			op, err := s.Request(b.Context(), other.UUID, func(*node.Node) (*node.Request, error) {
				return &node.Request{Open: &node.Operation{Kind: node.KindPower}}, nil
			})
			if err == nil {
				err = closeErr(s.CloseOperation(b.Context(), node.End{Operation: op.ID, Outcome: node.Succeeded}))
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				require.NoError(b, f(i))
			}
		})
	}
}

// BenchmarkNodesPage measures the list that a scheduler's client requests again and again.
func BenchmarkNodesPage(b *testing.B) {
	s := benchStore(b)
	seedBench(b, 100_000)
	b.ResetTimer()
	for b.Loop() {
		nodes, err := s.Nodes(b.Context(), node.Filter{}, node.Page{Limit: 1000})
		require.NoError(b, err)
		require.Len(b, nodes, 1000)
	}
}

// BenchmarkAvailablePage measures the first page of the nodes that a scheduler is offered, out
// of 100,000. It should take less than 20 ms.
func BenchmarkAvailablePage(b *testing.B) {
	s := benchStore(b)
	seedBench(b, 100_000)
	serving := connect(b, store.Config{URL: benchURL, Keyset: keyset, MaxConns: benchConns(), ConductorTimeout: time.Hour})
	require.NoError(b, s.Ready(b.Context()))
	for name, f := range map[string]node.AvailableFilter{"all": {}, "of a class": {ResourceClass: ptr("tin")}, "of a rare class": {ResourceClass: ptr("gold")}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				nodes, err := serving.Available(b.Context(), f)
				require.NoError(b, err)
				require.Equal(b, name == "of a rare class", len(nodes) == 0)
			}
		})
	}
}

// BenchmarkCoverage measures the statements that find out who covers nodes, with 100,000 nodes.
// 10,000 of them have an operation that waits, and 5,000 owe an undo.
func BenchmarkCoverage(b *testing.B) {
	benchStore(b)
	seedBench(b, 100_000)
	raw(b, benchURL, `
INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver, begun_at, run_id, asked, asked_at)
SELECT id, uuid, 'deploy', 'waiting', 'available', conductor_group, driver, now(), 'r', CASE WHEN id % 2 = 0 THEN 'unhold' ELSE '' END, now() - interval '1 minute'
  FROM nodes WHERE id % 10 = 1`)
	raw(b, benchURL, `UPDATE nodes SET owed = '["power off"]', maintenance = false, owed_refused = false WHERE id % 20 = 3`)
	raw(b, benchURL, `VACUUM ANALYZE`)
	s := connect(b, store.Config{URL: benchURL, Keyset: keyset, MaxConns: benchConns(), ConductorTimeout: time.Hour})
	uuid := ask[string](b, benchURL, `SELECT uuid::text FROM nodes WHERE id = 11`)
	operation := ask[int64](b, benchURL, `SELECT id FROM operations WHERE node_id = 11 AND ended_at IS NULL`)
	for name, f := range map[string]func() error{
		"Available":  func() error { _, err := s.Available(b.Context(), node.AvailableFilter{}); return err },
		"Nodes":      func() error { _, err := s.Nodes(b.Context(), node.Filter{}, node.Page{Limit: 1000}); return err },
		"StaleWaits": func() error { _, err := s.StaleWaits(b.Context()); return err },
		"Asked":      func() error { _, err := s.Asked(b.Context()); return err },
		"Quarantine": func() error { _, err := s.Quarantine(b.Context()); return err },
		"Served":     func() error { _, err := s.Served(b.Context()); return err },
		"Watch":      func() error { _, _, err := s.Watch(b.Context(), operation); return err },
		"ShownNode":  func() error { _, err := s.Node(b.Context(), uuid); return err },
		"Covering": func() error {
			_, err := s.Covering(b.Context(), uuid)
			return err
		},
		"WaitingUndo": func() error { _, err := s.OpenUndos(b.Context(), nil, "bench", time.Minute, 10); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, f())
			}
		})
	}
}

var benchURL string

// benchStore is a store on a durable cluster of its own; BENCH_PG names settings
// to try, as "name=value,name=value".
func benchStore(b *testing.B) *store.Store {
	settings := map[string]string{}
	for _, kv := range strings.Split(benchSettings(), ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			settings[k] = v
		}
	}
	server, _ := ownServer(b, settings)
	benchURL = server.URL("postgres")
	s := connect(b, store.Config{URL: benchURL, Keyset: keyset, MaxConns: benchConns()})
	require.NoError(b, s.Migrate(b.Context()))
	return s
}

func seedBench(b *testing.B, count int) { require.NoError(b, fill(benchURL, count)) }

func benchSettings() string { return os.Getenv("BENCH_PG") }

func benchConns() int32 {
	n, _ := strconv.Atoi(os.Getenv("BENCH_CONNS"))
	return int32(n)
}
