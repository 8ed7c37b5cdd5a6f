package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	discoveryColumns = `d.uuid::text, d.macs, d.boot_mac, d.manufacturer, d.product, d.serial, d.bmc_address, d.arch, d.boot_mode, d.cpus, d.memory_mb, d.disk_gb,
	d.source, d.found_at, d.last_at, d.times`

	discoveriesSQL = `
SELECT ` + discoveryColumns + ` FROM discoveries d
 WHERE (@after = '' OR (d.found_at, d.uuid) > (SELECT a.found_at, a.uuid FROM discoveries a WHERE a.uuid = nullif(@after, '')::uuid))
 ORDER BY d.found_at, d.uuid LIMIT @limit`

	discoverySQL = `SELECT ` + discoveryColumns + `, d.inventory FROM discoveries d WHERE d.uuid = @uuid`

	// The first inventory counts: whoever has looked at it must not get another one, which anybody could send.
	putDiscoverySQL = `
WITH known AS (
	SELECT FROM ports WHERE address = ANY(@macs)
), again AS (
	UPDATE discoveries SET last_at = clock_timestamp(), times = times + 1
	 WHERE uuid = (SELECT uuid FROM discoveries WHERE macs && @macs::text[] ORDER BY found_at, uuid LIMIT 1) AND NOT EXISTS (SELECT FROM known)
	RETURNING uuid
), found AS (
	INSERT INTO discoveries (macs, boot_mac, manufacturer, product, serial, bmc_address, arch, boot_mode, cpus, memory_mb, disk_gb, source, inventory)
	SELECT @macs, @boot_mac, @manufacturer, @product, @serial, @bmc_address, @arch, @boot_mode, @cpus, @memory_mb, @disk_gb, @source, @inventory
	 WHERE NOT EXISTS (SELECT FROM known) AND NOT EXISTS (SELECT FROM again) AND (SELECT count(*) FROM discoveries) < @most
	RETURNING uuid
)
SELECT EXISTS (SELECT FROM known), coalesce((SELECT uuid FROM again), (SELECT uuid FROM found))::text`

	deleteDiscoverySQL = `DELETE FROM discoveries WHERE uuid = @uuid`

	discoverableSQL = `
SELECT NOT EXISTS (SELECT FROM ports WHERE address = @mac) AND NOT EXISTS (SELECT FROM discoveries WHERE macs @> ARRAY[@mac::text])`
)

func scanDiscovery(r pgx.Row, more ...any) (d node.Discovery, err error) {
	return d, r.Scan(append([]any{
		&d.UUID, &d.MACs, &d.BootMAC, &d.Manufacturer, &d.Product, &d.Serial, &d.BMCAddress, &d.Arch, &d.BootMode, &d.CPUs, &d.MemoryMB, &d.DiskGB,
		&d.Source, &d.FoundAt, &d.LastAt, &d.Times,
	}, more...)...)
}

// Discoveries returns up to limit servers that are not enrolled, without their inventories, in the order in which they were found: those
// after the one with the uuid after, or the first ones if it is "".
func (s *Store) Discoveries(ctx context.Context, after string, limit int) ([]node.Discovery, error) {
	return list(ctx, s, "list discoveries", discoveriesSQL, args{"after": after, "limit": limit}, func(r pgx.Row) (node.Discovery, error) { return scanDiscovery(r) })
}

// Discovery returns one of them with its inventory. The error is fault.NotFound if there is none.
func (s *Store) Discovery(ctx context.Context, uuid string) (d node.Discovery, err error) {
	found, err := s.one(ctx, "read discovery "+words(uuid, 64), discoverySQL, args{"uuid": uuid}, func(r pgx.Row) (err error) {
		var inventory map[string]any
		d, err = scanDiscovery(r, &inventory)
		d.Inventory = inventory
		return err
	})
	if err == nil && !found {
		err = noDiscovery(uuid)
	}
	return d, err
}

func noDiscovery(uuid string) error {
	return fault.New(fault.NotFound, "There is no discovery %s. Once a node has a port of a server, it is no discovery any more.", words(uuid, 64))
}

// PutDiscovery keeps what an agent found on a server that is not enrolled, and returns its uuid. The error is fault.NotFound if a node
// has one of its MACs, and fault.Conflict if there are node.MaxDiscoveries.
func (s *Store) PutDiscovery(ctx context.Context, d node.Discovery) (uuid string, err error) {
	var dict dicts
	values := args{
		"macs": d.MACs, "boot_mac": words(d.BootMAC, 64), "manufacturer": words(d.Manufacturer, 255), "product": words(d.Product, 255),
		"serial": words(d.Serial, 255), "bmc_address": words(d.BMCAddress, 64), "arch": words(d.Arch, 64), "boot_mode": words(d.BootMode, 16),
		"cpus": d.CPUs, "memory_mb": d.MemoryMB, "disk_gb": d.DiskGB, "source": words(d.Source, 64), "inventory": dict.of(d.Inventory),
		"most": node.MaxDiscoveries,
	}
	if dict.err != nil {
		return "", dict.err
	}
	var known bool
	var kept *string
	_, err = s.one(ctx, "keep a discovery", putDiscoverySQL, values, func(r pgx.Row) error { return r.Scan(&known, &kept) })
	switch {
	case err != nil:
		return "", err
	case known:
		return "", fault.New(fault.NotFound, "a node has a port of that server")
	case kept == nil:
		return "", fault.New(fault.Conflict, "There are %d discoveries, and there can't be more.", node.MaxDiscoveries)
	}
	return *kept, nil
}

// DeleteDiscovery forgets a server: when it boots again it is found anew. The error is fault.NotFound if there is none.
func (s *Store) DeleteDiscovery(ctx context.Context, uuid string) error {
	n, err := s.changeRows(ctx, "delete discovery "+words(uuid, 64), deleteDiscoverySQL, args{"uuid": uuid})
	if err == nil && n == 0 {
		err = noDiscovery(uuid)
	}
	return err
}

// Discoverable reports whether the server with this MAC is neither enrolled, so that a node has a port of it, nor discovered yet.
func (s *Store) Discoverable(ctx context.Context, mac string) (yes bool, err error) {
	_, err = s.one(ctx, "ask whether a server is known", discoverableSQL, args{"mac": mac}, func(r pgx.Row) error { return r.Scan(&yes) })
	return yes, err
}
