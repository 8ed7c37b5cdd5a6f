package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	sayLostSQL = `INSERT INTO lost_temporal (said_by, reason) VALUES (@by, @reason)`

	saidLostSQL = `
SELECT l.said_by FROM lost_temporal l WHERE l.said_at > clock_timestamp() - @within * interval '1 microsecond' ORDER BY l.id DESC LIMIT 1`
)

// SayLostTemporal records that an operator, by, says that Temporal has lost its data.
func (s *Store) SayLostTemporal(ctx context.Context, by, reason string) error {
	_, err := s.changeRows(ctx, "record that temporal lost its data", sayLostSQL, args{"by": words(by, 255), "reason": words(reason, maxError)})
	return err
}

// SaidLostTemporal returns who was the last to say so within that time, "" if nobody did.
func (s *Store) SaidLostTemporal(ctx context.Context, within time.Duration) (by string, err error) {
	_, err = s.one(ctx, "read whether temporal lost its data", saidLostSQL, args{"within": micros(within)}, func(r pgx.Row) error { return r.Scan(&by) })
	return by, err
}
