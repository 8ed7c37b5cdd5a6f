package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
)

const storeFile = "temporal.db"

// storeConfig says how the SQLite file is used.
//
//   - journal_mode=wal: a commit is one append to the log, done before the call that caused it is answered.
//   - synchronous=normal: the log is not forced to disk at each commit, only at checkpoints. What is written is in the
//     kernel's hands, so SIGKILL of this process loses nothing; a power cut may lose the last moments but breaks
//     nothing (https://www.sqlite.org/pragma.html#pragma_synchronous). Temper's own record of what was accepted is in
//     PostgreSQL, and reconciliation starts again what this file has forgotten.
//   - locking_mode=exclusive: no lock calls per transaction, and a second process on the same file is refused.
//   - one connection, the plugin's default: readers beside it did not pay (see README.md).
func storeConfig(dataDir string) *config.SQL {
	path := url.URL{Path: filepath.Join(dataDir, storeFile)}
	return &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: path.EscapedPath(), // goes into a file: URI as it is
		ConnectAttributes: map[string]string{
			"mode":         "rw",
			"journal_mode": "wal",
			"synchronous":  "normal",
			"locking_mode": "exclusive",
			"temp_store":   "memory",
			"cache_size":   "-65536", // KiB when negative
			"busy_timeout": "2000",   // ms; covers a predecessor that is just going away
		},
	}
}

// makeStore makes the data folder and the database with its schema if they are not there.
// The schema takes many statements, so it is built beside and put in place as a whole:
// a kill in between leaves a file that the next start throws away.
func makeStore(dataDir string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	final := filepath.Join(dataDir, storeFile)
	if _, err := os.Stat(final); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for database: %w", err)
	}
	fresh, err := os.MkdirTemp(dataDir, "schema-")
	if err != nil {
		return fmt.Errorf("make schema folder: %w", err)
	}
	defer os.RemoveAll(fresh)
	c := storeConfig(fresh)
	c.ConnectAttributes = map[string]string{"mode": "rwc", "synchronous": "off"}
	if err := sqlite.SetupSchema(c); err != nil {
		return fmt.Errorf("write schema to %s: %w", fresh, err)
	}
	if err := syncFile(filepath.Join(fresh, storeFile)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(fresh, storeFile), final); err != nil {
		return fmt.Errorf("put database in place: %w", err)
	}
	return syncFile(dataDir)
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
