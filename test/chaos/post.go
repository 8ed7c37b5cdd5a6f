package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.temper.dev/temper/internal/chaos"
)

// post is a folder whose files tell a process where to stop.
type post struct{ dir string }

func newPost(dir string) (*post, error) {
	for _, sub := range []string{"arm", "reached"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return &post{dir: dir}, nil
}

func (p *post) env() string { return chaos.Env + "=" + p.dir }

// arm makes the process stop at a point of an operation on a node.
func (p *post) arm(uuid string, a chaos.Arm) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	file := filepath.Join(p.dir, "arm", uuid)
	if err := os.WriteFile(file+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// limit sets the timeout of workflows that are started from now on; 0 = none.
func (p *post) limit(d time.Duration) error {
	file := filepath.Join(p.dir, "limit")
	if d == 0 {
		return os.Remove(file)
	}
	return os.WriteFile(file, []byte(d.String()), 0o600)
}

// reached returns the point at which the process has stopped on a node.
func (p *post) reached(uuid string) (at chaos.Point, err error) {
	raw, err := os.ReadFile(filepath.Join(p.dir, "reached", uuid))
	if errors.Is(err, os.ErrNotExist) {
		return at, errors.New("its point was not reached")
	}
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	return at, err
}

// release lets the process continue wherever it has stopped.
func (p *post) release() error {
	return os.WriteFile(filepath.Join(p.dir, "release"), nil, 0o600)
}

// trace returns the points that the process has passed, in order.
func (p *post) trace() ([]chaos.Passed, error) {
	f, err := os.Open(filepath.Join(p.dir, "trace"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []chaos.Passed
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var at chaos.Passed
		if err := json.Unmarshal(lines.Bytes(), &at); err != nil {
			return nil, fmt.Errorf("the trace in %s: %w", p.dir, err)
		}
		all = append(all, at)
	}
	return all, nil
}
