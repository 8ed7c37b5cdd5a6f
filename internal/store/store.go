// Package store is PostgreSQL: all SQL of the program, and the transactions
// around it. It never speaks to Temporal or to hardware, and never decides what
// the life cycle allows (package node does).
//
// A statement is one Go constant that can be read from its first to its last word, with named
// parameters (@id), and it selects whole rows (o.*), which are read by the names of their columns
// (table). sqlc was tried for ports and conductors: its generated functions make a round trip
// each, where a transaction here sends all its statements in two, and it gives each statement
// structs of its own to copy from.
package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Config says where the database is and how long it may take.
type Config struct {
	URL      string // postgres://..., required
	MaxConns int32  // 0 = 8. Each connection plans its statements itself, and again after each ANALYZE, so that fewer cost less
	// Keyset is the JSON of the keys that secrets are sealed with (NewKeyset).
	Keyset string
	// ReadKeyset reads the keyset, now and again while the process runs; nil = it is Keyset for ever. KeysetChanged is called, with nil, if it
	// has read other keys, and with an error, once, if it has not; it may be nil.
	ReadKeyset      func() (string, error)
	KeysetChanged   func(error)
	ApplicationName string // shown in pg_stat_activity; "" = temper
	// StatementTimeout bounds each statement on the server; 0 = 10 s.
	StatementTimeout time.Duration
	// LockTimeout bounds waiting for a row that another transaction holds; 0 = 5 s.
	LockTimeout time.Duration
	// ConductorTimeout is the age of a heartbeat from which on a conductor is
	// dead; 0 = 15 s.
	ConductorTimeout time.Duration
	// ConductorInterval is the pause between two heartbeats of a conductor;
	// 0 = 3 s.
	ConductorInterval time.Duration
	// ComputeLease is how long a compute service holds its share after a
	// heartbeat; 0 = ComputeLease.
	ComputeLease time.Duration
	// WithholdUnhealthy says that nodes in critical health are not offered to anybody.
	WithholdUnhealthy bool
}

// The bounds of every conversation with the database.
const (
	connectTimeout   = 3 * time.Second
	idleInTxTimeout  = 15 * time.Second // a process that hangs must not hold a node's row
	defaultLock      = 5 * time.Second
	defaultStatement = 10 * time.Second
	defaultConductor = 15 * time.Second
	defaultInterval  = 3 * time.Second
	defaultConns     = 8
)

// Store is the database. All methods may be used at the same time.
type Store struct {
	pool              *pgxpool.Pool
	keyring           *keyring
	url               string
	statement, lock   time.Duration // what the server is told
	conductorTimeout  time.Duration
	conductorInterval time.Duration
	computeLease      time.Duration
	withhold          bool       // nodes in critical health
	publishing        sync.Mutex // PublishShares, one at a time
	listener          *listener
	ends              endsLease
}

// Open makes the pool. It does not connect: a database that is away at start
// is reported by Ready and by each call.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fault.New(fault.Invalid, "database url: %w", redact(err, c.URL))
	}
	keys, err := newKeyring(c)
	if err != nil {
		return nil, err
	}
	statement, lock := orDefault(c.StatementTimeout, defaultStatement), orDefault(c.LockTimeout, defaultLock)
	pc.MaxConns = orDefault(c.MaxConns, defaultConns)
	pc.MinIdleConns = 1
	pc.MaxConnLifetime = 30 * time.Minute
	pc.MaxConnLifetimeJitter = 5 * time.Minute
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.HealthCheckPeriod = 15 * time.Second
	if pc.ConnConfig.ConnectTimeout == 0 { // the URL has no connect_timeout
		pc.ConnConfig.ConnectTimeout = connectTimeout
	}
	pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	pc.ConnConfig.StatementCacheCapacity = 512
	for k, v := range map[string]string{
		"application_name":                    orDefault(c.ApplicationName, "temper"),
		"timezone":                            "UTC",
		"statement_timeout":                   millis(statement),
		"lock_timeout":                        millis(lock),
		"idle_in_transaction_session_timeout": millis(idleInTxTimeout),
	} {
		pc.ConnConfig.RuntimeParams[k] = v
	}
	pc.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		codec := pgtype.JSONCodec{Marshal: json.Marshal, Unmarshal: jsonvalue.Unmarshal}
		c.TypeMap().RegisterType(&pgtype.Type{Name: "json", OID: pgtype.JSONOID, Codec: &codec})
		c.TypeMap().RegisterType(&pgtype.Type{Name: "jsonb", OID: pgtype.JSONBOID, Codec: (*pgtype.JSONBCodec)(&codec)})
		c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fault.New(fault.Invalid, "database: %w", redact(err, c.URL))
	}
	return &Store{
		pool: pool, listener: newListener(func(ctx context.Context) (*pgx.Conn, error) { return connectToListen(ctx, pool) }), keyring: keys, url: c.URL, statement: statement, lock: lock,
		conductorTimeout:  orDefault(c.ConductorTimeout, defaultConductor),
		conductorInterval: orDefault(c.ConductorInterval, defaultInterval),
		computeLease:      orDefault(c.ComputeLease, ComputeLease),
		withhold:          c.WithholdUnhealthy,
	}, nil
}

// Close gives all connections back.
func (s *Store) Close() {
	s.listener.close()
	s.pool.Close()
}

// Ready reports whether the database answers and has the schema of this program.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	want, err := newestMigration()
	if err != nil {
		return err
	}
	var have int64
	err = s.pool.QueryRow(ctx, schemaVersionSQL).Scan(&have)
	if isUndefinedTable(err) {
		var old bool
		if err = s.pool.QueryRow(ctx, hasOldVersionsSQL).Scan(&old); old {
			return ErrUnreleased
		}
	}
	if err != nil {
		return mapError("read the schema's version", err)
	}
	switch {
	case have < want:
		return fault.New(fault.Unavailable, "the database has schema %d, this program needs %d: migrate first", have, want)
	case have > want:
		return newer(have, want)
	}
	return nil
}

func millis(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
