package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// portTable says of each column of ports who writes it, and whether lists can be sorted by it.
var portTable = newTable(
	number("id", func(p *node.Port) *int64 { return &p.ID }),
	text("uuid", func(p *node.Port) *string { return &p.UUID }).sorted("p"),
	unread[node.Port]("node_id"),
	text("address", func(p *node.Port) *string { return &p.Address }).by(onCreate|onPatch).sorted("p"),
	optionalText("name", func(p *node.Port) *string { return &p.Name }).by(onCreate|onPatch).sorted("p"),
	optionalText("description", func(p *node.Port) *string { return &p.Description }).by(onCreate|onPatch).sorted("p"),
	flag("pxe_enabled", func(p *node.Port) *bool { return &p.PXEEnabled }).by(onCreate|onPatch).sorted("p"),
	dictionary("local_link_connection", func(p *node.Port) *map[string]any { return &p.LocalLinkConnection }).by(onCreate|onPatch),
	optionalText("physical_network", func(p *node.Port) *string { return &p.PhysicalNetwork }).by(onCreate|onPatch).sorted("p"),
	flag("is_smartnic", func(p *node.Port) *bool { return &p.IsSmartNIC }).by(onCreate|onPatch).sorted("p"),
	dictionary("extra", func(p *node.Port) *map[string]any { return &p.Extra }).by(onCreate|onPatch),
	dictionary("internal_info", func(p *node.Port) *map[string]any { return &p.InternalInfo }).by(onCreate|onPatch),
	optionalUUID("portgroup_uuid", func(p *node.Port) *string { return &p.PortgroupUUID }).by(onCreate|onPatch).sorted("p"),
	optionalText("vendor", func(p *node.Port) *string { return &p.Vendor }).by(onCreate|onPatch).sorted("p"),
	optionalText("category", func(p *node.Port) *string { return &p.Category }).by(onCreate|onPatch).sorted("p"),
	flag("available_for_dynamic_portgroup", func(p *node.Port) *bool { return &p.AvailableForDynamicPortgroup }).by(onCreate|onPatch).sorted("p"),
	instant("created_at", func(p *node.Port) *time.Time { return &p.CreatedAt }).sorted("p"),
	optional("updated_at", "'-infinity'", func(p *node.Port) **time.Time { return &p.UpdatedAt }).sorted("p"),
)

// eachPort returns a scan of rows of ports (p.*) and the uuid of their node.
func eachPort() func(pgx.Row) (node.Port, error) {
	var uuid string
	scan := eachRow(portTable, &uuid)
	return func(r pgx.Row) (node.Port, error) {
		p, err := scan(r)
		p.NodeUUID = uuid
		return p, err
	}
}

// portSort are the expressions behind the sort keys of ports.
var portSort = func() map[string]string {
	keys := portTable.sorts()
	keys["node_uuid"] = "p.node_id"
	return keys
}()

const portsSQL = `SELECT p.*, n.uuid::text FROM ports p JOIN nodes n ON n.id = p.node_id`

const portMarkerSQL = `SELECT true FROM ports WHERE uuid = @marker`

// Ports is a page of the ports that pass the filter, in order of age without a sort key.
func (s *Store) Ports(ctx context.Context, f node.PortFilter, p node.Page) ([]node.Port, error) {
	q := &query{args: args{}}
	if f.Node != nil {
		id, _, err := s.nodeID(ctx, *f.Node)
		if err != nil {
			return nil, err
		}
		q.and("p.node_id = @node")
		q.args["node"] = id
	}
	q.ports(f)
	if err := q.page("ports", "p", portSort, p); err != nil {
		return nil, err
	}
	ports, err := list(ctx, s, "list ports", portsSQL+q.String(), q.args, eachPort())
	if err == nil && len(ports) == 0 && p.Marker != "" {
		err = s.needMarker(ctx, portMarkerSQL, p.Marker, "Port %s could not be found.")
	}
	return ports, err
}

// ports are the conditions but for that on the node, which is looked up before.
func (q *query) ports(f node.PortFilter) {
	equal(q, "p.address", "address", f.Address)
	q.uuidEqual("p.portgroup_uuid", "portgroup", f.Portgroup)
	if len(f.Shards) > 0 {
		q.and("n.shard = ANY(@shards)")
		q.args["shards"] = f.Shards
	}
	q.inGroups(f.ConductorGroups)
	if f.DescriptionContains != nil {
		q.and("position(lower(@description) in lower(p.description)) > 0")
		q.args["description"] = *f.DescriptionContains
	}
}

// inGroups selects what belongs to a node of one of these conductor groups. nil selects everything.
func (q *query) inGroups(groups []string) {
	if len(groups) > 0 {
		q.and("n.conductor_group = ANY(@groups)")
		q.args["groups"] = groups
	}
}

// NodePorts are all ports of a node, in order of age.
func (s *Store) NodePorts(ctx context.Context, nodeUUID string) ([]node.Port, error) {
	return s.Ports(ctx, node.PortFilter{Node: &nodeUUID}, node.Page{})
}

const (
	portByUUIDSQL = `SELECT p.*, n.uuid::text FROM ports p JOIN nodes n ON n.id = p.node_id WHERE p.uuid = @ident`
	portByNameSQL = `SELECT p.*, n.uuid::text FROM ports p JOIN nodes n ON n.id = p.node_id WHERE p.name = @ident`
)

// Port is the port of that uuid or name.
func (s *Store) Port(ctx context.Context, ident string) (*node.Port, error) {
	var p node.Port
	found, err := s.one(ctx, "read port "+words(ident, 64), byIdent(ident, portByUUIDSQL, portByNameSQL), args{"ident": ident}, func(r pgx.Row) (err error) {
		p, err = eachPort()(r)
		return err
	})
	if err == nil && !found {
		err = noPort(ident)
	}
	if err != nil {
		return nil, err
	}
	return &p, nil
}

func noPort(ident string) error {
	return fault.Coded(fault.PortNotFound, "Port %s could not be found.", words(ident, 255))
}

var insertPortSQL = `
INSERT INTO ports (uuid, node_id, ` + portTable.names(onCreate) + `)
SELECT @uuid, n.id, ` + portTable.values(onCreate) + ` FROM nodes n WHERE n.uuid = @node_uuid
RETURNING id, created_at`

// CreatePort inserts the port of the node NodeUUID. It fills in UUID where there
// is none, ID and CreatedAt.
func (s *Store) CreatePort(ctx context.Context, p *node.Port) error {
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	if !node.IsHyphenatedUUID(p.NodeUUID) {
		return node.NotFound(words(p.NodeUUID, 64))
	}
	a, err := portTable.args(p, onCreate)
	if err != nil {
		return err
	}
	a["uuid"], a["node_uuid"] = p.UUID, p.NodeUUID
	found, err := s.one(ctx, "create port "+words(p.UUID, 64), insertPortSQL, a, func(r pgx.Row) error { return r.Scan(&p.ID, &p.CreatedAt) })
	if err == nil && !found {
		err = node.NotFound(p.NodeUUID)
	}
	return err
}

const (
	lockPortByUUIDSQL = `SELECT p.id FROM ports p WHERE p.uuid = @ident FOR NO KEY UPDATE`
	lockPortByNameSQL = `SELECT p.id FROM ports p WHERE p.name = @ident FOR NO KEY UPDATE`
)

// A port may move to another node.
var updatePortSQL = `
UPDATE ports SET ` + portTable.assignments(onPatch) + `, node_id = n.id, updated_at = clock_timestamp()
  FROM nodes n
 WHERE ports.id = @id AND n.uuid = @node_uuid
RETURNING ports.updated_at`

// UpdatePort edits the port while its row and that of a node are locked: the node of, a uuid, to which it belongs before or after the
// change. NodeUUID may be changed too.
func (s *Store) UpdatePort(ctx context.Context, ident, of string, edit func(*node.Node, *node.Port) error) (*node.Port, error) {
	var p node.Port
	u := underNode{uuid: of}
	var locked int64 // while the lock was waited for, the name may have gone to another port
	err := s.inTx(ctx, "update port "+words(ident, 64), func(b *pgx.Batch) {
		u.queueLock(b)
		a := args{"ident": ident}
		b.Queue(byIdent(ident, lockPortByUUIDSQL, lockPortByNameSQL), a).QueryRow(maybe(new(bool), func(r pgx.Row) error { return r.Scan(&locked) }))
		b.Queue(byIdent(ident, portByUUIDSQL, portByNameSQL), a).QueryRow(maybe(new(bool), func(r pgx.Row) (err error) {
			p, err = eachPort()(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if locked == 0 || locked != p.ID {
			return noPort(ident)
		}
		if err := u.missing(); err != nil {
			return err
		}
		id, uuid, before := p.ID, p.UUID, p.NodeUUID
		if err := edit(&u.Node, &p); err != nil {
			return err
		}
		if err := u.concerns("The port "+uuid, before, p.NodeUUID); err != nil {
			return err
		}
		p.ID, p.UUID = id, uuid
		if !node.IsHyphenatedUUID(p.NodeUUID) {
			return node.NotFound(words(p.NodeUUID, 64))
		}
		a, err := portTable.args(&p, onPatch)
		if err != nil {
			return err
		}
		a["id"], a["node_uuid"] = p.ID, p.NodeUUID
		moved := false
		b.Queue(updatePortSQL, a).QueryRow(func(r pgx.Row) error {
			if err := maybe(&moved, func(r pgx.Row) error { return r.Scan(&p.UpdatedAt) })(r); err != nil {
				return err
			}
			if !moved {
				return node.NotFound(p.NodeUUID)
			}
			return nil
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

const (
	deletePortByUUIDSQL = `DELETE FROM ports WHERE uuid = @ident`
	deletePortByNameSQL = `DELETE FROM ports WHERE name = @ident`
)

// DeletePort removes the port of that uuid or name.
func (s *Store) DeletePort(ctx context.Context, ident string) error {
	rows, err := s.exec(ctx, "delete port "+words(ident, 64), byIdent(ident, deletePortByUUIDSQL, deletePortByNameSQL), args{"ident": ident})
	if err == nil && rows == 0 {
		err = noPort(ident)
	}
	return err
}
