package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
	"go.temper.dev/temper/internal/store"
)

// Everything that writes rows of many nodes, operations or instances runs twice at once,
// while clients write single nodes. There is no deadlock, and no writer fails because
// of another one.
func TestWritersOfManyRowsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s, url := offering(t)
	free(t, url, "gold", 400)
	const hosts = 4
	for i := range hosts {
		serviceBeats(t, s, share.Heartbeat{Host: fmt.Sprint("s", i), Incarnation: 1})
	}
	raw(t, url, `
INSERT INTO operations (node_id, node_uuid, kind, phase, origin, conductor_group, driver, begun_at, run_id)
SELECT id, uuid, 'deploy', 'running', 'available', '', driver, now(), 'r' FROM nodes WHERE id % 4 = 0`)
	operations := ask[[]int64](t, url, `SELECT array_agg(id) FROM operations`)
	uuids := ask[[]string](t, url, `SELECT array_agg(uuid::text) FROM nodes`)
	shuffled := func() []int64 {
		out := slices.Clone(operations)
		rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
	some := func() string { return uuids[rand.IntN(len(uuids))] }
	host := func() string { return fmt.Sprint("s", rand.IntN(hosts)) }
	allow := func(*node.Node) error { return nil }
	recorded := func() (out []string) {
		for _, i := range instances(t, s) {
			out = append(out, i.UUID)
		}
		rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
	aside, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer aside.Close()
	writers := map[string]func(context.Context) error{
		"mark missing":   func(ctx context.Context) error { _, err := s.MarkMissing(ctx, shuffled(), time.Minute); return err },
		"clear missing":  func(ctx context.Context) error { return s.ClearMissing(ctx, shuffled()) },
		"forget missing": func(ctx context.Context) error { return s.ForgetMissing(ctx) },
		"quarantine":     func(ctx context.Context) error { _, err := s.Quarantine(ctx); return err },
		"node counts":    func(ctx context.Context) error { _, err := s.AddUpNodeCounts(ctx); return err },
		"stranded":       func(ctx context.Context) error { _, err := s.FailStranded(ctx, 0); return err },
		"undos":          func(ctx context.Context) error { _, err := s.OpenUndos(ctx, undoSteps, "r", 0, 10); return err },
		"publish":        func(ctx context.Context) error { _, err := s.PublishShares(ctx, 0, share.Decide); return err },
		"hand over":      func(ctx context.Context) error { _, err := s.HandOverShares(ctx, 0); return err },
		"sweep":          func(ctx context.Context) error { return s.SweepInstances(ctx) },
		"confirm":        func(ctx context.Context) error { return s.ConfirmAbsent(ctx, host(), recorded()) },
		"move instances": func(ctx context.Context) error { _, _, err := s.MoveCompute(ctx, "", host(), ""); return err },
		"heartbeat": func(ctx context.Context) error {
			_, _, _, err := s.ComputeHeartbeat(ctx, share.Heartbeat{Host: host(), Incarnation: 1})
			return err
		},
		"epoch": func(ctx context.Context) error {
			f, err := s.Fleet(ctx)
			if err != nil {
				return err
			}
			_, err = s.WriteEpoch(ctx, coverage.Epoch{Read: f.Epoch, Members: f.Before, Changes: f.Changes})
			return err
		},
		"the conductor": func(ctx context.Context) error {
			i, err := s.RegisterConductor(ctx, coverage.Conductor{Hostname: "c1", Interfaces: map[string]map[string][]string{"fake-hardware": {"power": {"fake"}}}})
			if err == nil && rand.IntN(2) == 0 {
				err = s.StopConductor(ctx, "c1", i)
			}
			return err
		},
		"rotate": func(ctx context.Context) error {
			for range 20 { // as if another key had sealed them
				if _, err := aside.Exec(ctx, `UPDATE secrets SET key_id = 1 WHERE (node_id, name) = (SELECT node_id, name FROM secrets ORDER BY random() LIMIT 1)`); err != nil {
					return err
				}
			}
			_, err := s.Rotate(ctx, nil)
			return err
		},
		"the witness": func(ctx context.Context) error { _, err := s.Witness(ctx, time.Time{}, true); return err },
		"allocate": func(ctx context.Context) error {
			a := &node.Allocation{ResourceClass: "gold"}
			if err := s.Allocate(ctx, a, node.AllocationSearch{}, ""); err != nil || a.NodeUUID == "" || rand.IntN(2) == 0 {
				return err
			}
			return s.DeleteAllocation(ctx, a.UUID, "", allow)
		},
		"claim": func(ctx context.Context) error {
			_, err := s.ClaimNode(ctx, some(), "", share.Claimer{Service: host()}, func(n *node.Node) (node.Secrets, error) {
				n.InstanceUUID = someUUID()
				return nil, nil
			})
			return err
		},
		"absent": func(ctx context.Context) error { return s.MarkAbsent(ctx, append(recorded(), someUUID())[0]) },
		"patch": func(ctx context.Context) error {
			_, err := s.UpdateNode(ctx, some(), "", func(n *node.Node) (node.Secrets, error) {
				n.ConductorGroup, n.InstanceUUID = []string{"", "rack-1", "rack-2"}[rand.IntN(3)], ""
				n.DriverInfo = map[string]any{"redfish_password": mask.Masked, "ipmi_password": mask.Masked}
				return node.Secrets{"driver_info/redfish_password": "b", "driver_info/ipmi_password": "a"}, nil
			})
			return err
		},
		"maintenance": func(ctx context.Context) error {
			_, err := s.SetMaintenance(ctx, some(), rand.IntN(2) == 0, "", "")
			return err
		},
		"close": func(ctx context.Context) error {
			return closeErr(s.CloseOperation(ctx, node.End{Operation: shuffled()[0], Outcome: node.Failed, Error: "no"}))
		},
		"delete and make": func(ctx context.Context) error {
			if err := s.DeleteNode(ctx, some(), "ann", allow); err != nil {
				return err
			}
			return s.CreateNode(ctx, &node.Node{Driver: "fake-hardware", Interfaces: map[string]string{"power": "fake"}, ResourceClass: "gold", ProvisionState: node.Available}, nil, "")
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for name, write := range writers {
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					if err := write(t.Context()); err != nil && !conflicts(err) {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	require.Zero(t, ask[int](t, url, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
	agree(t, s, url)
}

// conflicts reports whether an error means that another writer was first.
func conflicts(err error) bool {
	return fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) || fault.Is(err, fault.NotAllowed) || fault.Is(err, fault.Lost) ||
		strings.Contains(err.Error(), "another epoch came first") // here epochs are written all the time
}

// agree checks that every history is of a node that exists or was deleted, every quarantine
// of a node that exists, and that instances and allocations are those of the nodes.
func agree(t testing.TB, s *store.Store, url string) {
	t.Helper()
	require.NoError(t, s.SweepInstances(t.Context()))
	for what, sql := range map[string]string{
		"histories without a node":                 `SELECT count(*) FROM events h WHERE h.event_type <> '' AND NOT EXISTS (SELECT FROM nodes n WHERE n.id = h.node_id) AND NOT EXISTS (SELECT FROM deleted_nodes d WHERE d.node_id = h.node_id)`,
		"quarantines without a node":               `SELECT count(*) FROM quarantines q WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.id = q.node_id)`,
		"allocations that their node lacks":        `SELECT count(*) FROM allocations t LEFT JOIN nodes n ON n.id = t.node_id WHERE t.state = 'active' AND n.allocation_uuid IS DISTINCT FROM t.uuid`,
		"allocations without their instance":       `SELECT count(*) FROM allocations t LEFT JOIN instances i ON i.uuid = t.uuid AND i.node_id = t.node_id WHERE t.state = 'active' AND i.uuid IS NULL`,
		"recorded instances that their node lacks": `SELECT count(*) FROM instances i LEFT JOIN nodes n ON n.id = i.node_id WHERE n.instance_uuid IS DISTINCT FROM i.uuid`,
	} {
		require.Zero(t, ask[int](t, url, sql), what)
	}
}
