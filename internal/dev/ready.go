package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Ready is what a process writes to its ready file once it serves. temporal-dev writes the first three fields, our roles the
// others.
type Ready struct {
	Address    string `json:"address,omitempty"` // host:port
	Namespace  string `json:"namespace,omitempty"`
	UIURL      string `json:"ui_url,omitempty"`
	URL        string `json:"url,omitempty"`
	MetricsURL string `json:"metrics_url,omitempty"`
}

// WriteReady writes a ready file.
func WriteReady(path string, r Ready) error { return writeJSON(path, 0o644, r) }

// ReadReady reads a ready file. It is os.ErrNotExist while the process is not ready.
func ReadReady(path string) (Ready, error) {
	var r Ready
	return r, readJSON(path, &r)
}

// writeJSON writes a file in one step, so that nobody reads half of it.
func writeJSON(path string, mode os.FileMode, v any) error {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return writeFile(path, mode, append(body, '\n'))
}

func writeFile(path string, mode os.FileMode, body []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(body)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("put %s in place: %w", path, err)
	}
	return nil
}

func readJSON(path string, v any) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
