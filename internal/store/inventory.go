package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const inventorySQL = `SELECT i.inventory, i.plugin_data FROM node_inventory i WHERE i.node_id = @node`

// Inventory is what was found out about the node's hardware; fault.NotFound
// where nothing was.
func (s *Store) Inventory(ctx context.Context, ident string) (inventory, plugin map[string]any, err error) {
	id, nodeUUID, err := s.nodeID(ctx, ident)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.one(ctx, "read the inventory of node "+nodeUUID, inventorySQL, args{"node": id}, func(r pgx.Row) error {
		return r.Scan(&inventory, &plugin)
	})
	if err == nil && !found {
		err = fault.New(fault.NotFound, "Node inventory record for node %s could not be found.", nodeUUID)
	}
	return inventory, plugin, err
}

const (
	putInventorySQL = `
INSERT INTO node_inventory (node_id, inventory, plugin_data, collected_at) VALUES (@node, @inventory, @plugin, clock_timestamp())
ON CONFLICT (node_id) DO UPDATE SET inventory = excluded.inventory, plugin_data = excluded.plugin_data,
	collected_at = excluded.collected_at`

	inspectedSQL = `
INSERT INTO agents (node_id, inspected_at) VALUES (@node, clock_timestamp())
ON CONFLICT (node_id) DO UPDATE SET inspected_at = excluded.inspected_at`
)

func queueInventory(b *pgx.Batch, nodeID int64, inventory, plugin map[string]any) error {
	var d dicts
	b.Queue(putInventorySQL, args{"node": nodeID, "inventory": d.dict(inventory), "plugin": d.dict(plugin)})
	return d.err
}

// PutInventory keeps what the node's agent found, and that it did so in this
// boot. The operation is the node's open one, nil = none.
func (s *Store) PutInventory(ctx context.Context, nodeUUID string, inventory, plugin map[string]any) (op *node.Operation, err error) {
	err = s.inNodeTx(ctx, nodeUUID, "keep the inventory of node "+words(nodeUUID, 64), func(l *lockedNode, b *pgx.Batch) error {
		op = l.Operation
		b.Queue(inspectedSQL, args{"node": l.ID})
		return queueInventory(b, l.ID, inventory, plugin)
	})
	if err != nil {
		return nil, err
	}
	return op, nil
}

const (
	inspectedNodeSQL = `
UPDATE nodes SET properties = properties || @properties, boot_mode = coalesce(nullif(@boot_mode, ''), boot_mode),
	updated_at = clock_timestamp()
 WHERE id = @id`

	foundPortSQL = `
INSERT INTO ports (uuid, node_id, address, name, description, pxe_enabled, local_link_connection, physical_network, is_smartnic, extra, internal_info)
VALUES (@uuid, @node, @address, nullif(@name, ''), nullif(@description, ''), @pxe_enabled, @local_link_connection,
	nullif(@physical_network, ''), @is_smartnic, @extra, @internal_info)
ON CONFLICT (address) DO NOTHING`
)

// SaveInspection writes what an inspection found, under a claim: properties are
// merged into the node's, ports are made for MACs that no port has.
func (s *Store) SaveInspection(ctx context.Context, id int64, c node.Claim, found node.Inspection) error {
	return s.inClaim(ctx, "save an inspection", id, c, func(f *fenced, b *pgx.Batch) error {
		var d dicts
		b.Queue(inspectedNodeSQL, args{"id": f.ID, "properties": d.dict(found.Properties), "boot_mode": found.BootMode})
		if d.err != nil {
			return d.err
		}
		// In one order for all: two inspections that found the same MACs wait for each other.
		ports := slices.SortedFunc(slices.Values(found.Ports), func(a, b node.Port) int { return strings.Compare(a.Address, b.Address) })
		for _, p := range ports {
			if p.UUID == "" {
				p.UUID = uuid.NewString()
			}
			a, err := portArgs(&p)
			if err != nil {
				return err
			}
			a["uuid"], a["node"] = p.UUID, f.ID
			b.Queue(foundPortSQL, a)
		}
		if found.Inventory == nil {
			return nil
		}
		return queueInventory(b, f.ID, found.Inventory, found.PluginData)
	})
}
