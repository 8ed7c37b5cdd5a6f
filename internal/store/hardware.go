package store

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

const (
	inventoryOfUUIDSQL = `
SELECT i.operation_id, i.inventory, i.collected_at, i.before, i.before_at, i.changes
  FROM node_inventory i JOIN nodes n ON n.id = i.node_id WHERE n.uuid = @uuid`

	inventoryOfOperationSQL = `
SELECT i.operation_id, i.inventory, i.collected_at, i.before, i.before_at, i.changes
  FROM node_inventory i JOIN operations o ON o.node_id = i.node_id WHERE o.id = @operation`

	putInventorySQL = `
INSERT INTO node_inventory (node_id, inventory, plugin_data, collected_at, operation_id, facts, changes, before, before_at)
VALUES (@node, @inventory, @plugin, clock_timestamp(), @operation, @facts, @changes, @before, @before_at)
ON CONFLICT (node_id) DO UPDATE SET inventory = excluded.inventory, plugin_data = excluded.plugin_data,
	collected_at = excluded.collected_at, operation_id = excluded.operation_id, facts = excluded.facts, changes = excluded.changes,
	before = excluded.before, before_at = excluded.before_at`

	hardwareToldSQL = `
INSERT INTO events (` + nodeColumns + `, type, operation_id, kind, data)
SELECT ` + nodeValues + `, 'node.hardware_changed', o.id, coalesce(o.kind, ''), @data
  FROM nodes n LEFT JOIN operations o ON o.id = @operation WHERE n.id = @node`
)

// storedInventory is what is stored when the next inventory comes.
type storedInventory struct {
	found     bool
	operation *int64
	inventory map[string]any
	collected time.Time
	before    *inventory.Parts // of the inspection before
	beforeAt  *time.Time
	changes   *inventory.Changes // since the inspection before
}

// queueRead reads it. The node's row has to be locked.
func (w *storedInventory) queueRead(b *pgx.Batch, sql string, a args) {
	b.Queue(sql, a).QueryRow(maybe(&w.found, func(r pgx.Row) error {
		return r.Scan(&w.operation, &w.inventory, &w.collected, &w.before, &w.beforeAt, &w.changes)
	}))
}

// baseline returns with what the inventory of an operation is compared: with what the operation before found, also if this one stores its
// inventory again.
func (w *storedInventory) baseline(operation int64) (*inventory.Parts, *time.Time) {
	switch {
	case !w.found:
		return nil, nil
	case w.operation != nil && *w.operation == operation:
		return w.before, w.beforeAt
	}
	parts := inventory.Read(w.inventory)
	return &parts, &w.collected
}

// queueNext stores the next inventory, with what has changed. The history of the node tells that once for an operation, and the events once
// for each result that is another one.
func (w *storedInventory) queueNext(b *pgx.Batch, nodeID, operation int64, found, plugin map[string]any) error {
	var d dicts
	a := args{"node": nodeID, "operation": operation, "inventory": d.dict(found), "plugin": d.dict(plugin), "before": nil, "changes": nil}
	if d.err != nil {
		return d.err
	}
	// What is compared later is what the database returns, so it is read from JSON here, too.
	var stored map[string]any
	if err := jsonvalue.Unmarshal(a["inventory"].(json.RawMessage), &stored); err != nil {
		return fault.New(fault.Internal, "read an inventory again: %w", err)
	}
	parts := inventory.Read(stored)
	before, at := w.baseline(operation)
	a["facts"], a["before_at"] = d.of(parts.Facts()), at
	if before != nil {
		changes := inventory.Compare(*before, parts)
		a["before"], a["changes"] = d.of(before), d.of(changes)
		again := w.operation != nil && *w.operation == operation
		if len(changes.List) > 0 && (!again || !reflect.DeepEqual(w.changes, &changes)) {
			b.Queue(hardwareToldSQL, args{"node": nodeID, "operation": operation, "data": d.of(map[string]any{"changes": changes.List, "more_changes": changes.More})})
		}
		if len(changes.List) > 0 && !again {
			queueHistory(b, nodeID, node.HistoryEvent{
				EventType: node.HistoryHardware, Operation: operation,
				Event: "Inspection found other hardware than the one before: " + changes.String(),
			})
		}
	}
	if d.err != nil {
		return d.err
	}
	b.Queue(putInventorySQL, a)
	return nil
}

const hardwareSQL = `
SELECT i.collected_at, i.facts, coalesce(i.changes, '{"list": [], "more": 0}'), i.before_at, coalesce(n.resource_class, '')
  FROM node_inventory i JOIN nodes n ON n.id = i.node_id WHERE i.node_id = @node`

// maxSiblings is how many nodes of a resource class a node is compared with.
const maxSiblings = 1000

// siblingsSQL returns the most frequent value of each fact among other nodes of a resource class.
const siblingsSQL = `
WITH siblings AS (
	SELECT i.facts FROM nodes n JOIN node_inventory i ON i.node_id = n.id
	 WHERE n.resource_class = @class AND n.id <> @node ORDER BY n.id LIMIT @most),
seen AS (
	SELECT f.key AS fact, f.value, count(*) AS servers FROM siblings, jsonb_each_text(siblings.facts) AS f GROUP BY f.key, f.value)
SELECT DISTINCT ON (s.fact) s.fact, s.value, s.servers::int, (sum(s.servers) OVER (PARTITION BY s.fact))::int, (SELECT count(*) FROM siblings)::int
  FROM seen s ORDER BY s.fact, s.servers DESC, s.value`

// Hardware returns how the inventory of a node differs from the inspection before and from other nodes of its resource class;
// fault.NotFound if it was not inspected.
func (s *Store) Hardware(ctx context.Context, ident string) (*inventory.Comparison, error) {
	id, uuid, err := s.nodeID(ctx, ident)
	if err != nil {
		return nil, err
	}
	h := inventory.Comparison{NodeUUID: uuid}
	found, err := s.one(ctx, "read the hardware of node "+uuid, hardwareSQL, args{"node": id}, func(r pgx.Row) error {
		return r.Scan(&h.CollectedAt, &h.Facts, &h.Changes, &h.ChangedSince, &h.ResourceClass)
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fault.New(fault.NotFound, "Node inventory record for node %s could not be found.", uuid)
	case h.ResourceClass == "":
		return &h, nil
	}
	values, err := list(ctx, s, "compare the hardware of node "+uuid, siblingsSQL, siblingsArgs(id, h.ResourceClass), func(r pgx.Row) (v inventory.Value, err error) {
		return v, r.Scan(&v.Fact, &v.Value, &v.Servers, &v.Of, &h.Siblings)
	})
	if err != nil {
		return nil, err
	}
	h.Differences = inventory.Differences(h.Facts, values)
	return &h, nil
}

func siblingsArgs(nodeID int64, class string) args {
	return args{"node": nodeID, "class": class, "most": maxSiblings}
}
