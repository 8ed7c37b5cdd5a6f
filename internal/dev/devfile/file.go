package devfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.temper.dev/temper/internal/jsonvalue"
)

// WriteJSON writes a file in one step, so that nobody reads half of it.
func WriteJSON(path string, mode os.FileMode, v any) error {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return Write(path, mode, append(body, '\n'))
}

// Write writes a file in one step.
func Write(path string, mode os.FileMode, body []byte) error {
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

// ReadJSON decodes a file into v.
func ReadJSON(path string, v any) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := jsonvalue.Unmarshal(body, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
