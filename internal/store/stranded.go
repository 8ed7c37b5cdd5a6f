package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/node"
)

const (
	strandedSQL = `
SELECT n.id FROM nodes n
 WHERE n.provision_state = ANY (@states) AND coalesce(n.provision_updated_at, n.created_at) < clock_timestamp() - @safe * interval '1 microsecond'
   AND NOT EXISTS (SELECT FROM operations o WHERE o.node_id = n.id AND o.ended_at IS NULL)
 LIMIT @limit`

	strandedAtOnce = 200
)

// The nodes are locked in a statement before (lockNodesSQL). Whoever opens an
// operation locks the node, too, so this one sees the operations of all of them.
var nodesByIDsSQL = `
SELECT n.*, o.*, a.*, ` + relationsSQL + `, clock_timestamp()` + fromNode + `
 WHERE n.id = ANY (@ids)`

// FailStranded ends the work on the nodes that are in a transient state, without an
// operation, for longer than safe (closing.Stranded), and returns how many these were.
// What takes longer than a reconciliation may is left to the next one.
func (s *Store) FailStranded(ctx context.Context, safe time.Duration) (total int, err error) {
	a := args{"states": node.TransientStates(), "safe": micros(safe), "limit": strandedAtOnce}
	for began := time.Now(); ; {
		ids, err := list(ctx, s, "find stranded nodes", strandedSQL, a, scanID)
		if err != nil || len(ids) == 0 {
			return total, err
		}
		failed, err := s.failStranded(ctx, ids, safe)
		total += failed
		if err != nil || failed == 0 || len(ids) < strandedAtOnce || time.Since(began) > batchesTime {
			return total, err
		}
	}
}

// failStranded does that for those of the nodes that are stranded still, in one
// transaction. A node that somebody else has locked is left for the next time.
func (s *Store) failStranded(ctx context.Context, ids []int64, safe time.Duration) (failed int, err error) {
	var locked []int64
	var nodes []*lockedNode
	err = s.inTx(ctx, "fail stranded nodes", func(b *pgx.Batch) {
		b.Queue(lockNodesSQL, args{"ids": ids}).Query(collect(&locked, scanID))
		b.Queue(nodesByIDsSQL, args{"ids": ids}).Query(collect(&nodes, func(r pgx.Row) (*lockedNode, error) {
			var l lockedNode
			return &l, l.read(r, &l.now)
		}))
	}, func(b *pgx.Batch) error {
		for _, l := range nodes {
			e, stranded := closing.Stranded(&l.Node)
			if !stranded || !slices.Contains(locked, l.ID) || l.now.Sub(*l.StateSince()) < safe {
				continue
			}
			l.applyEnding(e)
			if err := l.queueState(b); err != nil {
				return err
			}
			failed++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return failed, nil
}
