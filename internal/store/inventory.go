package store

import (
	"context"
	"encoding/json"
	"maps"
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

const inspectedSQL = `
INSERT INTO agents (node_id, inspected_at, inspected_source) VALUES (@node, clock_timestamp(), @source)
ON CONFLICT (node_id) DO UPDATE SET inspected_at = excluded.inspected_at, inspected_source = excluded.inspected_source`

const (
	inspectedFromSQL = `SELECT a.inspected_source FROM agents a JOIN nodes n ON n.id = a.node_id WHERE n.uuid = @uuid AND a.inspected_at IS NOT NULL`

	awaitsInventorySQL = `SELECT EXISTS (SELECT FROM operations WHERE ended_at IS NULL AND kind = ANY(@kinds))`
)

// AnyInspection reports whether any node is being inspected.
func (s *Store) AnyInspection(ctx context.Context) (yes bool, err error) {
	_, err = s.one(ctx, "look for inspections", awaitsInventorySQL, args{"kinds": inspections}, func(r pgx.Row) error { return r.Scan(&yes) })
	return yes, err
}

// PutInventory stores the inventory that an agent sent for a node that waits for one.
// Only the first one of a boot counts: another one from the same source changes
// nothing, and one from another source is fault.NotFound, as for a node that does not
// wait. The operation is the node's open one, nil if nothing has changed.
func (s *Store) PutInventory(ctx context.Context, nodeUUID, source string, inventory, plugin map[string]any) (op *node.Operation, err error) {
	var had bool
	var first string
	var was storedInventory
	queueReads := func(b *pgx.Batch) {
		was.queueRead(b, inventoryOfUUIDSQL, args{"uuid": nodeUUID})
		b.Queue(inspectedFromSQL, args{"uuid": nodeUUID}).QueryRow(maybe(&had, func(r pgx.Row) error { return r.Scan(&first) }))
	}
	err = s.inNodeTxAfter(ctx, nodeUUID, "keep the inventory of node "+words(nodeUUID, 64), queueReads, func(l *lockedNode, b *pgx.Batch) error {
		switch {
		case !l.AwaitsInventory():
			return fault.New(fault.NotFound, "node %s waits for no inventory", nodeUUID)
		case had && first != source:
			return fault.New(fault.NotFound, "node %s has its inventory from another source", nodeUUID)
		case had:
			return errLeave
		}
		op = l.Operation
		b.Queue(inspectedSQL, args{"node": l.ID, "source": words(source, maxError)})
		return was.queueNext(b, l.ID, op.ID, inventory, plugin)
	})
	if err != nil {
		return nil, err
	}
	return op, nil
}

var inspectedNodeSQL = telling{
	eventType: ofType("baremetal.node.update.end"), of: ofThatNode, data: "'changed', ARRAY['properties']",
	where: " JOIN nodes b ON b.id = r.id WHERE b.properties <> r.properties", // b = as it was before
}.with(`
UPDATE nodes SET properties = properties || @properties, boot_mode = coalesce(nullif(@boot_mode, ''), boot_mode),
	secure_boot = coalesce(@secure_boot, secure_boot), updated_at = clock_timestamp()
 WHERE id = @id RETURNING id, uuid, name, owner, lessee, properties`) + ` SELECT FROM r`

const notFoundPortsSQL = `
SELECT count(*) FROM unnest(@addresses::text[]) AS found
 WHERE NOT EXISTS (SELECT FROM ports p WHERE p.address = found AND p.node_id = @node)`

var foundPortSQL = ports.telling(`
INSERT INTO ports (node_id, `+ports.columns.names(onCreate)+`)
SELECT @node, `+ports.columns.values(onCreate)+`
 WHERE (SELECT count(*) FROM ports WHERE node_id = @node) < @most
ON CONFLICT (address) DO NOTHING RETURNING *`, "create") + " SELECT FROM r"

// An operator's local_link_connection stays.
var linkedPortsSQL = ports.telling(`
UPDATE ports SET local_link_connection = f.link::jsonb, updated_at = clock_timestamp()
  FROM unnest(@addresses::text[], @links::text[]) AS f (address, link)
 WHERE ports.node_id = @node AND ports.address = f.address AND ports.local_link_connection = '{}' RETURNING ports.*`, "update") + " SELECT FROM r"

// SaveInspection writes what an inspection found, under a claim: properties are
// merged into the node's, ports are made for MACs that no port has, up to
// node.MaxFoundPorts. leftOut is how many MACs became no port of the node: they
// are another's, or too many.
func (s *Store) SaveInspection(ctx context.Context, id int64, c node.Claim, found node.Inspection) (leftOut int, err error) {
	var was storedInventory
	queueReads := func(b *pgx.Batch) {
		if found.Inventory != nil {
			was.queueRead(b, inventoryOfOperationSQL, args{"operation": id})
		}
	}
	err = s.inClaimAfter(ctx, "save an inspection", id, c, queueReads, func(f *fenced, b *pgx.Batch) error {
		var d dicts
		b.Queue(inspectedNodeSQL, args{"id": f.ID, "properties": d.dict(found.Properties), "boot_mode": found.BootMode, "secure_boot": found.SecureBoot})
		if d.err != nil {
			return d.err
		}
		if err := queueFoundPorts(b, f.ID, found.Ports, &leftOut); err != nil {
			return err
		}
		if found.Inventory == nil {
			return nil
		}
		return was.queueNext(b, f.ID, id, found.Inventory, found.PluginData)
	})
	return leftOut, err
}

func queueFoundPorts(b *pgx.Batch, nodeID int64, found []node.Port, leftOut *int) error {
	if len(found) == 0 {
		return nil
	}
	byAddress := make(map[string]node.Port, len(found))
	for _, p := range found {
		byAddress[p.Address] = p
	}
	named := slices.SortedFunc(maps.Values(byAddress), func(a, b node.Port) int {
		if a.PXEEnabled != b.PXEEnabled { // these are what a node is known by
			if a.PXEEnabled {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Address, b.Address)
	})
	tooMany := max(0, len(named)-node.MaxFoundPorts)
	named = named[:len(named)-tooMany]
	// In one order for all: two inspections that found the same MACs wait for each other.
	slices.SortFunc(named, func(a, b node.Port) int { return strings.Compare(a.Address, b.Address) })
	addresses, linked, links := make([]string, 0, len(named)), []string(nil), []string(nil)
	for _, p := range named {
		if p.UUID == "" {
			p.UUID = uuid.NewString()
		}
		a, err := ports.columns.args(&p, onCreate)
		if err != nil {
			return err
		}
		a["node"], a["most"] = nodeID, node.MaxFoundPorts
		b.Queue(foundPortSQL, a)
		addresses = append(addresses, p.Address)
		if len(p.LocalLinkConnection) > 0 {
			link, err := json.Marshal(p.LocalLinkConnection)
			if err != nil {
				return err
			}
			linked, links = append(linked, p.Address), append(links, string(link))
		}
	}
	if len(linked) > 0 {
		b.Queue(linkedPortsSQL, args{"node": nodeID, "addresses": linked, "links": links, "changed": true})
	}
	b.Queue(notFoundPortsSQL, args{"node": nodeID, "addresses": addresses}).QueryRow(func(r pgx.Row) error {
		err := r.Scan(leftOut)
		*leftOut += tooMany
		return err
	})
	return nil
}
