package store

import (
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/node"
)

// updateStateSQL writes provision_state and the other columns that a move changes (onMove in node_row.go).
var updateStateSQL = nodeUpdate(`
UPDATE nodes SET ` + nodeTable.assignments(onMove) + `,
	owed_tries = CASE WHEN @owed::jsonb = '[]' THEN 0 ELSE owed_tries END, owed_tried_at = CASE WHEN @owed::jsonb <> '[]' THEN owed_tried_at END,
	updated_at = clock_timestamp()
 WHERE id = @id`)

// apply takes a transition into the locked node; queueState writes it.
func (l *lockedNode) apply(t node.Transition) {
	l.leave(t)
	t.Apply(&l.Node, l.now)
	l.clearInstance = l.clearInstance || t.ClearInstance
}

// leave remembers, for the history, how long the node has been in the state that t leaves.
func (l *lockedNode) leave(t node.Transition) {
	if t.From != t.To && l.ProvisionUpdatedAt != nil {
		seconds := max(l.now.Sub(*l.ProvisionUpdatedAt), 0).Seconds()
		l.lasted = &seconds
	}
}

// timed says in a line of the history how long the node had been in the state that it has left.
func (l *lockedNode) timed(e node.HistoryEvent) node.HistoryEvent {
	e.Lasted = l.lasted
	return e
}

// applyEnding takes the end of the work on the locked node into it; queueState writes it.
func (l *lockedNode) applyEnding(e closing.Ending) {
	l.leave(e.Transition)
	e.Apply(&l.Node, l.now)
	l.clearInstance, l.clearAgent = l.clearInstance || e.ClearInstance, l.clearAgent || e.ClearAgent
	l.history = e.History
}

var dropAllocationSQL = allocationTold("delete", "").with(`DELETE FROM allocations WHERE node_id = @node RETURNING *`) + ` SELECT FROM r`

const (
	dropInstanceSecretsSQL = `DELETE FROM secrets WHERE node_id = @node AND name LIKE 'instance\_info/%'`

	// Attached VIFs stand in internal_info, with old clients in extra.
	dropVIFsSQL = `
UPDATE ports SET internal_info = internal_info - 'tenant_vif_port_id', extra = extra - 'vif_port_id', updated_at = clock_timestamp()
 WHERE node_id = @node AND (internal_info ? 'tenant_vif_port_id' OR extra ? 'vif_port_id')`

	dropAgentSQL = `DELETE FROM agents WHERE node_id = @node`
)

// queueState adds to the batch what writes the locked node as its transitions and the caller have changed it,
// with what belongs to it outside its row. Secrets that had a place in the node before
// and have none now are dropped. Nothing else writes the provision state of a node that
// exists.
func (l *lockedNode) queueState(b *pgx.Batch) error {
	a, err := stateArgs(&l.Node)
	if err != nil {
		return err
	}
	a["id"] = l.ID
	if _, err := l.queueUpdate(b, updateStateSQL, a); err != nil {
		return err
	}
	if l.allocated != "" && l.AllocationUUID == "" { // an allocation goes with its instance
		b.Queue(dropAllocationSQL, args{"node": l.ID})
	}
	if l.clearInstance {
		b.Queue(dropInstanceSecretsSQL, args{"node": l.ID})
		b.Queue(dropAllOperationSecretsSQL, args{"node": l.ID})
		b.Queue(dropVIFsSQL, args{"node": l.ID})
	}
	if l.clearAgent {
		b.Queue(dropAgentSQL, args{"node": l.ID})
		queueDropSecrets(b, l.ID, []string{agentToken})
	}
	queueDropSecrets(b, l.ID, gone(l.had, &l.Node))
	if l.history.Event != "" {
		queueHistory(b, l.ID, l.timed(l.history))
	}
	return nil
}

// Callback timeouts count from here (Ironic's touch_provisioning).
const touchSQL = `UPDATE nodes SET provision_updated_at = clock_timestamp() WHERE id = @id`

// queueTouch lets the timeout of the locked node, which waits for its agent, begin anew.
func (l *lockedNode) queueTouch(b *pgx.Batch) { b.Queue(touchSQL, args{"id": l.ID}) }
