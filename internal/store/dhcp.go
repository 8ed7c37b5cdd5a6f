package store

import (
	"context"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	bootsByNetworkSQL = `SELECT true, coalesce((found.contents ->> 'http')::boolean, false) FROM (` + networkMediumSQL + `) found`

	// What another process has taken meanwhile is not taken away from it: then there is no row.
	leaseAddressSQL = `
WITH mine AS (
	SELECT address FROM dhcp_leases WHERE holder = @holder AND address BETWEEN @first AND @last ORDER BY until DESC LIMIT 1
), free AS (
	SELECT a FROM (SELECT @first::inet + g AS a FROM generate_series(0, @last::inet - @first::inet) g) one
	 WHERE NOT EXISTS (SELECT FROM dhcp_leases l WHERE l.address = a AND l.until > clock_timestamp())
	   AND NOT EXISTS (SELECT FROM mine)
	 ORDER BY a LIMIT 1
), chosen AS (SELECT address AS a FROM mine UNION ALL SELECT a FROM free)
INSERT INTO dhcp_leases (address, holder, until)
SELECT a, @holder, clock_timestamp() + @for FROM chosen
ON CONFLICT (address) DO UPDATE SET holder = excluded.holder, until = excluded.until
 WHERE dhcp_leases.holder = excluded.holder OR dhcp_leases.until <= clock_timestamp()
RETURNING address`

	declineAddressSQL = `
UPDATE dhcp_leases SET holder = 'declined', until = clock_timestamp() + @for WHERE address = @address AND holder = @holder`

	holdsAddressSQL = `SELECT EXISTS (SELECT FROM dhcp_leases WHERE holder = @holder AND until > clock_timestamp())`

	releaseAddressSQL = `DELETE FROM dhcp_leases WHERE address = @address AND holder = @holder`
)

// leaseTries is how often a free address is looked for that another process takes meanwhile.
const leaseTries = 10

// BootsByNetwork reports whether an operation boots the server with a port of this MAC by network now, and whether UEFI is to load iPXE by
// HTTP.
func (s *Store) BootsByNetwork(ctx context.Context, mac string) (boots, byHTTP bool, err error) {
	_, err = s.one(ctx, "ask whether a server boots by network", bootsByNetworkSQL, args{"mac": mac}, func(r pgx.Row) error { return r.Scan(&boots, &byHTTP) })
	return boots, byHTTP, err
}

// HoldsAddress reports whether the holder has an address that is not over.
func (s *Store) HoldsAddress(ctx context.Context, holder string) (yes bool, err error) {
	_, err = s.one(ctx, "ask for a lease", holdsAddressSQL, args{"holder": holder}, func(r pgx.Row) error { return r.Scan(&yes) })
	return yes, err
}

// LeaseAddress returns the address from first to last that the holder has, or gives it one that nobody has, for d from now on. ok is false
// if all are given out.
func (s *Store) LeaseAddress(ctx context.Context, holder string, first, last netip.Addr, d time.Duration) (a netip.Addr, ok bool, err error) {
	for range leaseTries {
		ok, err = s.one(ctx, "lease an address", leaseAddressSQL, args{"holder": holder, "first": first, "last": last, "for": d}, func(r pgx.Row) error {
			return r.Scan(&a)
		})
		if err != nil || ok {
			break
		}
	}
	return a, ok, err
}

// DeclineAddress takes an address from its holder, and gives it to nobody for d.
func (s *Store) DeclineAddress(ctx context.Context, holder string, a netip.Addr, d time.Duration) error {
	_, err := s.exec(ctx, "decline an address", declineAddressSQL, args{"address": a, "holder": holder, "for": d})
	return err
}

// ReleaseAddress gives an address back that the holder has.
func (s *Store) ReleaseAddress(ctx context.Context, holder string, a netip.Addr) error {
	_, err := s.exec(ctx, "release an address", releaseAddressSQL, args{"address": a, "holder": holder})
	return err
}
