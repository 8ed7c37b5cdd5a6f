package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
)

const storeFile = "temporal.db"

// lockWithin is how long a start waits for an earlier process on the same data to end.
const lockWithin = 2 * time.Second

// storeConfig says how the SQLite file is used.
//
//   - journal_mode=wal: a commit is one append to the log, done before the call that caused it is answered.
//   - synchronous=normal: the log is forced to disk at checkpoints, not at every commit. The kernel has all that was
//     written, so SIGKILL of this process loses nothing. A power cut may lose the last commits, but the file stays intact
//     (https://www.sqlite.org/pragma.html#pragma_synchronous). Temper's own record of what was accepted is in PostgreSQL,
//     and reconciliation starts workflows again that this file has lost. Measured with workflows of three activities:
//     50 a second, against 30 with synchronous=full.
//   - one connection, the plugin's default: with four, writers compete for SQLite's lock, and the same measurement gave
//     17 a second.
func storeConfig(dataDir string) *config.SQL {
	path := url.URL{Path: filepath.Join(dataDir, storeFile)}
	return &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: path.EscapedPath(), // goes into a file: URI as it is
		ConnectAttributes: map[string]string{
			"mode":         "rw",
			"journal_mode": "wal",
			"synchronous":  "normal",
			"temp_store":   "memory",
			"cache_size":   "-65536", // KiB when negative
			"busy_timeout": "5000",   // ms, for when somebody looks at the file with another tool
		},
	}
}

// keptIndexes are the indexes of the visibility table that Temper's queries (searchAttributes are the first keywords) and
// the web UI's lists use. The schema has fifty more; keeping them up to date cost a tenth of the whole server's CPU.
// A query on any other column is still answered, by a scan.
var keptIndexes = []string{
	"default_idx", "by_workflow_id", "by_workflow_type", "by_status", "by_temporal_scheduled_by_id",
	"by_keyword_01", "by_keyword_02", "by_keyword_03", "by_keyword_04", "by_keyword_05",
}

// openStore makes the data folder and the database if they do not exist, and locks them for this process. The caller
// must keep the returned file open until the process ends. The kernel releases the lock then, even after a kill.
func openStore(dataDir string) (*os.File, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dataDir, "lock"), lockWithin)
	if err != nil {
		return nil, err
	}
	if err := makeStore(dataDir); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// makeStore creates the database with its schema unless it exists. The schema is many statements, so they run in a
// temporary folder, and the complete file is then renamed. The next start removes the folder that a kill leaves.
func makeStore(dataDir string) error {
	final := filepath.Join(dataDir, storeFile)
	if _, err := os.Stat(final); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for database: %w", err)
	}
	fresh := filepath.Join(dataDir, "schema.new")
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("throw away unfinished schema: %w", err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("make schema folder: %w", err)
	}
	c := storeConfig(fresh)
	c.ConnectAttributes = map[string]string{"mode": "rwc", "synchronous": "off"}
	if err := sqlite.SetupSchema(c); err != nil {
		return fmt.Errorf("write schema to %s: %w", fresh, err)
	}
	if err := dropIndexes(filepath.Join(fresh, storeFile)); err != nil {
		return fmt.Errorf("drop indexes that nobody uses: %w", err)
	}
	if err := syncFile(filepath.Join(fresh, storeFile)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(fresh, storeFile), final); err != nil {
		return fmt.Errorf("put database in place: %w", err)
	}
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove schema folder: %w", err)
	}
	return syncFile(dataDir)
}

func dropIndexes(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	// Indexes without SQL belong to a primary key.
	rows, err := db.QueryContext(ctx, `
		SELECT name FROM sqlite_master
		 WHERE type = 'index' AND tbl_name = 'executions_visibility' AND sql IS NOT NULL`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var drop strings.Builder
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if !slices.Contains(keptIndexes, name) {
			fmt.Fprintf(&drop, "DROP INDEX %s;\n", name)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, drop.String())
	return err
}

// lockFile makes and locks a file. It waits up to lockWithin for the lock of another process, which may be about to end.
func lockFile(path string, within time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	deadline := time.After(within)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		select {
		case <-deadline:
			f.Close()
			return nil, fmt.Errorf("lock %s, which another temporal-dev holds: %w", path, err)
		case <-again.C:
		}
	}
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync to disk: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s to disk: %w", path, err)
	}
	return nil
}
