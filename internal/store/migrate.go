package store

import (
	"context"
	"database/sql"
	"io/fs"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver "pgx", which goose wants
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/schemas"
)

// migrateTime bounds waiting for another process's migration and our own.
const migrateTime = 10 * time.Minute

// versionTable is where goose keeps the schema's version.
const versionTable = "schema_versions"

const (
	schemaVersionSQL = `SELECT coalesce(max(version_id), 0) FROM schema_versions WHERE is_applied`

	// Two series of migrations came before 00001_schema.sql, each with a version table of its own. No version with them was released.
	hasOldVersionsSQL = `SELECT to_regclass('goose_db_version') IS NOT NULL OR to_regclass('schema_migrations') IS NOT NULL`
)

// Migrate brings the database at url to this program's schema. Processes that
// do so at the same time wait for each other. A database that is newer than the
// program is refused: an old program must not write to a schema it does not know.
// So is one of the migrations before 00001_schema.sql, which no migration leads on from.
func Migrate(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTime)
	defer cancel()
	db, err := sql.Open("pgx", url)
	if err != nil {
		return fault.New(fault.Invalid, "database url: %w", redact(err, url))
	}
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		return err
	}
	if err := refuseOld(ctx, db); err != nil {
		return err
	}
	if err := refuseNewer(ctx, p); err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return mapError("migrate the database", err)
	}
	return refuseNewer(ctx, p)
}

// Migrate is the function of the same name on the store's database.
func (s *Store) Migrate(ctx context.Context) error { return Migrate(ctx, s.url) }

func refuseOld(ctx context.Context, db *sql.DB) error {
	var old bool
	if err := db.QueryRowContext(ctx, hasOldVersionsSQL).Scan(&old); err != nil {
		return mapError("read the schema's version", err)
	}
	if old {
		return ErrUnreleased
	}
	return nil
}

// ErrUnreleased is the error of Migrate and Ready for a database of a version before the first release.
var ErrUnreleased = fault.New(fault.Invalid, "the database has tables of a Temper before its first release, which can't be upgraded: "+
	`create a new database (createdb NAME), name it in database_url, and run "temper migrate"; the old one is left as it is`)

func refuseNewer(ctx context.Context, p *goose.Provider) error {
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return mapError("read the schema's version", err)
	}
	if have > want {
		return newer(have, want)
	}
	return nil
}

func newer(have, want int64) error {
	return fault.New(fault.Invalid, "the database has schema %d, newer than the %d this program knows: use a newer program", have, want)
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(schemas.Migrations, "migrations")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, uint64(migrateTime.Seconds())))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versionTable), goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
}

// newestMigration is the schema's version that this program has.
func newestMigration() (newest int64, err error) {
	files, err := fs.Glob(schemas.Migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		v, err := goose.NumericComponent(f)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}
