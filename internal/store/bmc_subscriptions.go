package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// openSubscriptionSQL also deletes some rows whose BMC nobody has logged in to for so long that it is gone.
	openSubscriptionSQL = `
WITH old AS (
	DELETE FROM bmc_subscriptions s USING (
		SELECT o.id FROM bmc_subscriptions o WHERE o.opened_at < clock_timestamp() - interval '30 days' ORDER BY o.opened_at LIMIT 100 FOR UPDATE SKIP LOCKED) o
	 WHERE s.id = o.id)
INSERT INTO bmc_subscriptions (id, address, conductor) VALUES (@id, @address, @conductor)`

	leftSubscriptionsSQL = `
SELECT s.id FROM bmc_subscriptions s
 WHERE s.address = @address
   AND NOT EXISTS (SELECT FROM conductors c, witness w WHERE c.hostname = s.conductor AND c.started_at <= s.opened_at AND conductor_alive(c, w, @timeout))
 ORDER BY s.opened_at LIMIT 16`

	endedSubscriptionsSQL = `DELETE FROM bmc_subscriptions WHERE id = ANY(@ids)`

	abandonSubscriptionSQL = `UPDATE bmc_subscriptions SET conductor = '' WHERE id = @id`

	announceBMCEventSQL = `SELECT pg_notify('temper_bmc_events', s.id) FROM bmc_subscriptions s WHERE s.id = @id`
)

// OpenBMCSubscription records that a conductor is about to subscribe to the events of the BMC at address.
func (s *Store) OpenBMCSubscription(ctx context.Context, conductor, address, id string) error {
	_, err := s.exec(ctx, "record a subscription to the events of a BMC", openSubscriptionSQL, args{"id": id, "address": address, "conductor": conductor})
	return err
}

// LeftBMCSubscriptions returns the ids of the subscriptions with the BMC at address, the oldest first and at most 16, that
// conductors have abandoned, or whose conductors have died, were forgotten, or have been started again since.
func (s *Store) LeftBMCSubscriptions(ctx context.Context, address string) ([]string, error) {
	a := args{"address": address, "timeout": micros(s.conductorTimeout)}
	return list(ctx, s, "find subscriptions to the events of a BMC", leftSubscriptionsSQL, a, func(r pgx.Row) (id string, err error) {
		return id, r.Scan(&id)
	})
}

// EndedBMCSubscriptions forgets subscriptions.
func (s *Store) EndedBMCSubscriptions(ctx context.Context, ids []string) error {
	_, err := s.exec(ctx, "forget subscriptions to the events of a BMC", endedSubscriptionsSQL, args{"ids": ids})
	return err
}

// AbandonBMCSubscription records that its conductor could not delete a subscription.
func (s *Store) AbandonBMCSubscription(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "abandon a subscription to the events of a BMC", abandonSubscriptionSQL, args{"id": id})
	return err
}

// AnnounceBMCEvent tells the conductor that waits for the events of a subscription that one has come. It reports whether there
// is such a subscription.
func (s *Store) AnnounceBMCEvent(ctx context.Context, id string) (known bool, err error) {
	return s.one(ctx, "announce an event of a BMC", announceBMCEventSQL, args{"id": id}, func(r pgx.Row) error {
		var void any
		return r.Scan(&void)
	})
}

// HearBMCEvents calls heard with the id of each subscription of which an event is announced, until ctx ends or the connection
// breaks, which is an error. It has a connection beside the pool; ready is called when the connection listens: no later event is missed.
func (s *Store) HearBMCEvents(ctx context.Context, ready func(), heard func(id string)) error {
	c := s.pool.Config().ConnConfig
	c.RuntimeParams["application_name"] += " bmc events"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return mapError("hear events of BMCs", err)
	}
	defer closeConn(conn)
	if _, err := conn.Exec(ctx, "LISTEN temper_bmc_events"); err != nil {
		return mapError("hear events of BMCs", err)
	}
	ready()
	for {
		n, err := waitForNotification(ctx, conn, hearFor)
		if err != nil {
			return err
		}
		if n != nil {
			heard(n.Payload)
		}
	}
}

// hearFor is how long a connection waits before it asks whether the server is still there.
const hearFor = time.Minute
