// Package testenv gives tests a real PostgreSQL. Only tests use it, and it leaves nothing behind.
package testenv

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/pgserver"
	"go.temper.dev/temper/internal/store"
)

// template is the migrated database of which each test gets a copy.
const template = "temper_template"

// cluster is the cluster of this test binary. The first test that needs one starts it.
var cluster struct {
	once   sync.Once
	err    error
	server *pgserver.Server
	base   string // URL of the maintenance database
	dir    string
	prefix string

	maintenance *pgxpool.Pool // of connections to that, because a new one costs nearly as much as a new database

	next   atomic.Int64
	mu     sync.Mutex
	filled map[string]error // templates with rows in them, by name
}

// Main runs the tests and then stops what they started:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop stops the cluster of this test binary. It is for packages with a TestMain of their own.
func Stop() {
	if cluster.server == nil {
		if cluster.maintenance != nil {
			defer cluster.maintenance.Close()
			for name := range cluster.filled { // the server runs on, so remove what we made there
				_ = maintain("DROP DATABASE IF EXISTS " + cluster.prefix + name)
			}
			_ = maintain("DROP DATABASE IF EXISTS " + cluster.prefix + template)
		}
		return
	}
	if cluster.maintenance != nil {
		cluster.maintenance.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := cluster.server.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(cluster.dir) // the next run removes what is left
}

// Postgres returns the URL of a new, migrated, empty database, which is dropped when the test ends.
// The server is that of TEMPER_TEST_DATABASE_URL, else a private one that runs as long as the test
// binary. If PostgreSQL is not installed, the test is skipped, or fails if TEMPER_TEST_REQUIRE is set.
func Postgres(t testing.TB) string {
	t.Helper()
	begin(t)
	return database(t, template)
}

// Filled is Postgres with rows: a copy of the database name, which the first call fills with fill. fill
// must leave no connection open.
func Filled(t testing.TB, name string, fill func(url string) error) string {
	t.Helper()
	begin(t)
	cluster.mu.Lock()
	err, known := cluster.filled[name]
	if !known {
		if err = maintain("CREATE DATABASE " + cluster.prefix + name + " TEMPLATE " + cluster.prefix + template); err == nil {
			err = fill(withDatabase(cluster.base, cluster.prefix+name))
		}
		if cluster.filled == nil {
			cluster.filled = map[string]error{}
		}
		cluster.filled[name] = err
	}
	cluster.mu.Unlock()
	require.NoError(t, err)
	return database(t, name)
}

// begin starts the cluster, or skips the test.
func begin(t testing.TB) {
	t.Helper()
	cluster.once.Do(func() { cluster.err = start() })
	if cluster.err != nil {
		if os.Getenv("TEMPER_TEST_REQUIRE") == "" && strings.Contains(cluster.err.Error(), pgserver.ErrNotFound.Error()) {
			t.Skip(cluster.err)
		}
		require.NoError(t, cluster.err)
	}
}

func database(t testing.TB, from string) string {
	t.Helper()
	name, err := create(from)
	require.NoError(t, err)
	t.Cleanup(func() { _ = maintain("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") })
	return withDatabase(cluster.base, name)
}

func start() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cluster.base = os.Getenv("TEMPER_TEST_DATABASE_URL")
	cluster.prefix = fmt.Sprintf("temper_test_%d_", os.Getpid())
	if cluster.base == "" {
		if err := startPrivate(ctx); err != nil {
			return err
		}
	}
	var err error
	if cluster.maintenance, err = pgxpool.New(ctx, cluster.base); err != nil {
		return err
	}
	name := cluster.prefix + template
	if err := maintain("CREATE DATABASE " + name); err != nil {
		return err
	}
	return store.Migrate(ctx, withDatabase(cluster.base, name))
}

// startPrivate starts a cluster without durability, which tests don't need.
func startPrivate(ctx context.Context) error {
	sweep()
	dir, err := os.MkdirTemp(folder(), fmt.Sprintf("temper-test-pg-%d-", os.Getpid()))
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	cluster.dir = dir
	cluster.server, err = pgserver.Start(ctx, pgserver.Options{
		Dir: filepath.Join(dir, "pg"), EndWithStarter: true,
		Settings: map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0",
			"shared_buffers": "64MB", "max_connections": "600", "autovacuum": "off",
		},
	})
	if err != nil {
		return err
	}
	// A test that opens many connections at a time on a busy machine gets some of them late.
	cluster.base = cluster.server.URL("postgres") + "&connect_timeout=10"
	return nil
}

// folder returns the folder for clusters: in memory where there is room, because each test makes a database of some 1,500 files; "" =
// that for temporary files.
func folder() string {
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return memory
}

// sweep removes the folders of test binaries that were killed.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(cmp.Or(folder(), os.TempDir()), "temper-test-pg-*"))
	for _, d := range dirs {
		f := strings.Split(strings.TrimPrefix(filepath.Base(d), "temper-test-pg-"), "-")
		if pid, err := strconv.Atoi(f[0]); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(d)
		}
	}
}

func create(from string) (string, error) {
	name := cluster.prefix + strconv.FormatInt(cluster.next.Add(1), 10)
	// Without write-ahead log this takes a fifth of the time.
	return name, maintain("CREATE DATABASE " + name + " TEMPLATE " + cluster.prefix + from + " STRATEGY FILE_COPY")
}

func maintain(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := cluster.maintenance.Exec(ctx, sql)
	return err
}

func withDatabase(base, name string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	u.Path = "/" + name
	return u.String()
}
