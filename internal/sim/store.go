package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/sim/machine"
)

// saveEvery is how long changes are collected before they are written.
const saveEvery = 200 * time.Millisecond

// rackFile is the content of rack.json.
type rackFile struct {
	Seed      int64          `json:"seed"`
	DiskBytes int64          `json:"disk_bytes"`
	Personas  []string       `json:"personas,omitempty"`
	Addresses savedAddresses `json:"addresses"`
}

// store reads and writes the rack's folder: rack.json, servers/NAME.json and certificates.
// The servers write their disks themselves.
type store struct {
	dir  string
	rack rackFile

	mu    sync.Mutex
	dirty map[string]*machine.Server
	wake  chan struct{}
}

// openStore opens or creates the folder. If it exists, its seed, disk size and personas
// replace those of the settings, because its servers were made from them.
func openStore(dir string, cfg *Config) (*store, error) {
	s := &store{dir: dir, dirty: map[string]*machine.Server{}, wake: make(chan struct{}, 1)}
	if err := os.MkdirAll(filepath.Join(dir, "servers"), 0o755); err != nil {
		return nil, err
	}
	s.rack = rackFile{Seed: cfg.Seed, DiskBytes: cfg.DiskBytes, Personas: cfg.Personas}
	switch err := readJSON(filepath.Join(dir, "rack.json"), &s.rack); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case s.rack.Seed != cfg.Seed || s.rack.DiskBytes != cfg.DiskBytes || !slices.Equal(s.rack.Personas, cfg.Personas):
		cfg.Log.Warn("ignored the settings for seed, disk size and personas: the folder has a rack with others", zap.String("folder", dir),
			zap.Int64("seed", s.rack.Seed), zap.Int64("disk_bytes", s.rack.DiskBytes), zap.Strings("personas", s.rack.Personas))
		cfg.Seed, cfg.DiskBytes, cfg.Personas = s.rack.Seed, s.rack.DiskBytes, s.rack.Personas
	}
	return s, nil
}

// saveAddresses writes the addresses into rack.json.
func (s *store) saveAddresses(a savedAddresses) error {
	s.rack.Addresses = a
	return writeJSON(filepath.Join(s.dir, "rack.json"), s.rack)
}

// markDirty records that a server has changed and must be written.
func (s *store) markDirty(m *machine.Server) {
	s.mu.Lock()
	s.dirty[m.Name] = m
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes changed servers until ctx ends, and then once more.
func (s *store) run(ctx context.Context, log *zap.Logger) {
	for {
		select {
		case <-ctx.Done():
			s.flush(log)
			return
		case <-s.wake:
		}
		select {
		case <-ctx.Done():
		case <-time.After(saveEvery):
		}
		s.flush(log)
	}
}

func (s *store) flush(log *zap.Logger) {
	s.mu.Lock()
	dirty := s.dirty
	s.dirty = map[string]*machine.Server{}
	s.mu.Unlock()
	for name, m := range dirty {
		if err := writeJSON(s.path(name), m.State()); err != nil {
			log.Error("could not save the state of a server", zap.String("server", name), zap.Error(err))
		}
	}
}

// load returns a server's saved state, nil if there is none or it can't be read: then the
// simulated server starts as a new one.
func (s *store) load(name string) *machine.State {
	var st machine.State
	if readJSON(s.path(name), &st) != nil {
		return nil
	}
	return &st
}

func (s *store) path(name string) string { return filepath.Join(s.dir, "servers", name+".json") }

// writeJSON replaces a file atomically. Only its owner may read it, because some files
// contain agents' tokens.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
