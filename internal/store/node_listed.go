package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// listedScan is what a nodeScan needs for node.Listed.
type listedScan struct{ node.Listed }

// target is where the column of that name goes if its JSON is not decoded into n; nil = it is.
func (l *listedScan) target(column string, n *node.Node) any {
	d := &l.Documents
	switch column {
	case "driver_info":
		return undecoded{&d.DriverInfo}
	case "driver_internal_info":
		return undecoded{&d.DriverInternalInfo}
	case "properties":
		return undecoded{&d.Properties}
	case "extra":
		return undecoded{&d.Extra}
	case "instance_info":
		return undecoded{&d.InstanceInfo}
	case "network_data":
		return undecoded{&d.NetworkData}
	case "raid_config":
		return undecoded{&d.RAIDConfig}
	case "target_raid_config":
		return undecoded{&d.TargetRAIDConfig}
	case "interfaces":
		return decodedInto[map[string]string]{nodeInterfaces, &n.Interfaces}
	case "owed":
		return owedIfAny{&n.Owed}
	}
	return nil
}

// nodeInterfaces are interfaces of nodes, of which a fleet has few different ones.
var nodeInterfaces = &decodedOnce[map[string]string]{}

// undecoded is a target of Scan for JSON, which is valid until the next row is read.
type undecoded struct{ to *[]byte }

func (u undecoded) ScanBytes(b []byte) error {
	*u.to = b
	return nil
}

// owedIfAny decodes the undos of a node that has some.
type owedIfAny struct{ to *[]node.Undo }

func (o owedIfAny) ScanBytes(b []byte) error {
	if string(b) == "[]" {
		return nil
	}
	return jsonvalue.Unmarshal(b, o.to)
}

// eachListed returns a scan of the rows of eachShownNode. All its nodes are the same memory.
func eachListed() func(pgx.Row) (*node.Listed, error) {
	var l listedScan
	var q quarantineRow
	var health node.HealthStatus
	scan := eachScanned(&nodeScan{listed: &l, more: append(q.into(), &health)})
	return func(r pgx.Row) (_ *node.Listed, err error) {
		q = quarantineRow{}
		l.Node, err = scan(r)
		l.Quarantine, l.Health = q.quarantine(), health
		return &l.Listed, err
	}
}

// NodeAndConductors is Node as a list has it, and Conductors, in one round trip.
func (s *Store) NodeAndConductors(ctx context.Context, ident string) (n *node.Listed, all []coverage.Conductor, err error) {
	c := s.call("read node " + words(ident, 64))
	found := false
	b := &pgx.Batch{}
	b.Queue(byIdent(ident, shownByUUIDSQL, shownByNameSQL), args{"ident": ident, "timeout": micros(s.conductorTimeout)}).
		QueryRow(maybe(&found, func(r pgx.Row) (err error) {
			if n, err = eachListed()(r); err == nil {
				n.Documents = n.Documents.Clone()
			}
			return err
		}))
	b.Queue(conductorsSQL, s.lives()).Query(func(rows pgx.Rows) (err error) {
		scan := eachConductor()
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (coverage.Conductor, error) { return scan(r) })
		return err
	})
	if err := c.send(ctx, s.pool, b); err != nil {
		return nil, nil, c.fail(err)
	}
	if !found {
		return nil, nil, node.NotFound(ident)
	}
	return n, all, nil
}
