package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const portColumns = `
	p.id, p.uuid::text, n.uuid::text, p.address, coalesce(p.name, ''), coalesce(p.description, ''), p.pxe_enabled,
	p.local_link_connection, coalesce(p.physical_network, ''), p.is_smartnic, p.extra, p.internal_info, p.created_at, p.updated_at`

const fromPorts = ` FROM ports p JOIN nodes n ON n.id = p.node_id`

func scanPort(r pgx.Row) (p node.Port, err error) {
	return p, r.Scan(&p.ID, &p.UUID, &p.NodeUUID, &p.Address, &p.Name, &p.Description, &p.PXEEnabled,
		&p.LocalLinkConnection, &p.PhysicalNetwork, &p.IsSmartNIC, &p.Extra, &p.InternalInfo, &p.CreatedAt, &p.UpdatedAt)
}

func portArgs(p *node.Port) (args, error) {
	var d dicts
	a := args{
		"address": p.Address, "name": p.Name, "description": p.Description, "pxe_enabled": p.PXEEnabled,
		"local_link_connection": d.dict(p.LocalLinkConnection), "physical_network": p.PhysicalNetwork,
		"is_smartnic": p.IsSmartNIC, "extra": d.dict(p.Extra), "internal_info": d.dict(p.InternalInfo),
	}
	return a, d.err
}

// portSort are the expressions behind the sort keys, as nodeSort.
var portSort = map[string]string{
	"uuid": "p.uuid", "address": "p.address", "name": "coalesce(p.name, '')", "description": "coalesce(p.description, '')",
	"pxe_enabled": "p.pxe_enabled", "physical_network": "coalesce(p.physical_network, '')", "is_smartnic": "p.is_smartnic",
	"node_uuid": "p.node_id", "created_at": "p.created_at", "updated_at": "coalesce(p.updated_at, '-infinity')",
}

const portsSQL = `SELECT ` + portColumns + fromPorts

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
	ports, err := list(ctx, s, "list ports", portsSQL+q.String(), q.args, scanPort)
	if err == nil && len(ports) == 0 && p.Marker != "" {
		err = s.needMarker(ctx, portMarkerSQL, p.Marker, "Port %s could not be found.")
	}
	return ports, err
}

// ports are the conditions but for that on the node, which is looked up before.
func (q *query) ports(f node.PortFilter) {
	equal(q, "p.address", "address", f.Address)
	if len(f.Shards) > 0 {
		q.and("n.shard = ANY(@shards)")
		q.args["shards"] = f.Shards
	}
	if f.DescriptionContains != nil {
		q.and("position(lower(@description) in lower(p.description)) > 0")
		q.args["description"] = *f.DescriptionContains
	}
}

// NodePorts are all ports of a node, in order of age.
func (s *Store) NodePorts(ctx context.Context, nodeUUID string) ([]node.Port, error) {
	return s.Ports(ctx, node.PortFilter{Node: &nodeUUID}, node.Page{})
}

const (
	portByUUIDSQL = `SELECT ` + portColumns + fromPorts + ` WHERE p.uuid = @ident`
	portByNameSQL = `SELECT ` + portColumns + fromPorts + ` WHERE p.name = @ident`
)

// Port is the port of that uuid or name.
func (s *Store) Port(ctx context.Context, ident string) (*node.Port, error) {
	var p node.Port
	found, err := s.one(ctx, "read port "+words(ident, 64), byIdent(ident, portByUUIDSQL, portByNameSQL), args{"ident": ident}, func(r pgx.Row) (err error) {
		p, err = scanPort(r)
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

const insertPortSQL = `
INSERT INTO ports (uuid, node_id, address, name, description, pxe_enabled, local_link_connection, physical_network, is_smartnic, extra, internal_info)
SELECT @uuid, n.id, @address, nullif(@name, ''), nullif(@description, ''), @pxe_enabled, @local_link_connection,
	nullif(@physical_network, ''), @is_smartnic, @extra, @internal_info
  FROM nodes n WHERE n.uuid = @node_uuid
RETURNING id, created_at`

// CreatePort inserts the port of the node NodeUUID. It fills in UUID where there
// is none, ID and CreatedAt.
func (s *Store) CreatePort(ctx context.Context, p *node.Port) error {
	if p.UUID == "" {
		p.UUID = uuid.NewString()
	}
	if !isUUID(p.NodeUUID) {
		return node.NotFound(words(p.NodeUUID, 64))
	}
	a, err := portArgs(p)
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

	// A port may move to another node.
	updatePortSQL = `
UPDATE ports SET address = @address, name = nullif(@name, ''), description = nullif(@description, ''), pxe_enabled = @pxe_enabled,
	local_link_connection = @local_link_connection, physical_network = nullif(@physical_network, ''), is_smartnic = @is_smartnic,
	extra = @extra, internal_info = @internal_info, node_id = n.id, updated_at = clock_timestamp()
  FROM nodes n
 WHERE ports.id = @id AND n.uuid = @node_uuid
RETURNING ports.updated_at`
)

// UpdatePort edits the port under its row's lock. NodeUUID may be changed too.
func (s *Store) UpdatePort(ctx context.Context, ident string, edit func(*node.Port) error) (*node.Port, error) {
	var p node.Port
	var found bool
	err := s.inTx(ctx, "update port "+words(ident, 64), func(b *pgx.Batch) {
		a := args{"ident": ident}
		b.Queue(byIdent(ident, lockPortByUUIDSQL, lockPortByNameSQL), a).QueryRow(maybe(&found, func(r pgx.Row) error { return r.Scan(nil) }))
		b.Queue(byIdent(ident, portByUUIDSQL, portByNameSQL), a).QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			p, err = scanPort(r)
			return err
		}))
	}, func(b *pgx.Batch) error {
		if !found || p.ID == 0 {
			return noPort(ident)
		}
		id, uuid := p.ID, p.UUID
		if err := edit(&p); err != nil {
			return err
		}
		p.ID, p.UUID = id, uuid
		if !isUUID(p.NodeUUID) {
			return node.NotFound(words(p.NodeUUID, 64))
		}
		a, err := portArgs(&p)
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
