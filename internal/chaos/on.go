//go:build chaos

package chaos

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// On says whether points stop anybody.
const On = true

// Env names the folder from which a process is told where to stop:
//
//	arm/NODE      an Arm: where to stop on that node, once
//	reached/NODE  written here when it has: the Point
//	release       while it is there nobody stops, and who has goes on
//	trace         written here: each Point that was passed, a line each
const Env = "TEMPER_CHAOS"

// An Arm is a Point to stop at. A deaf one does not even go on when its context ends.
type Arm struct {
	Point
	Deaf bool `json:"deaf"`
}

// look is how often it is looked for the release: a process that was frozen is to go on before it hears that others have
// its work.
const look = 5 * time.Millisecond

var (
	folder   = os.Getenv(Env)
	watch    sync.Once
	released = make(chan struct{})
	tracing  sync.Mutex
)

// At stops where the folder says so, until it is released or ctx ends.
func At(ctx context.Context, p Point) {
	if folder == "" {
		return
	}
	trace(p)
	raw, err := os.ReadFile(filepath.Join(folder, "arm", p.Node))
	if err != nil {
		return
	}
	var a Arm
	if json.Unmarshal(raw, &a) != nil || a.Name != p.Name || a.Step != "" && a.Step != p.Step || a.Request != "" && a.Request != p.Request {
		return
	}
	watch.Do(func() { go awaitRelease() })
	if !reached(p) {
		return
	}
	over := ctx.Done()
	if a.Deaf {
		over = nil
	}
	select {
	case <-released:
	case <-over:
	}
}

func awaitRelease() {
	for {
		if _, err := os.Stat(filepath.Join(folder, "release")); err == nil {
			close(released)
			return
		}
		time.Sleep(look)
	}
}

// reached says so, unless somebody has been here: a point stops once.
func reached(p Point) bool {
	file := filepath.Join(folder, "reached", p.Node)
	raw, err := json.Marshal(p)
	if err != nil {
		return false
	}
	if _, err := os.Stat(file); err == nil {
		return false
	}
	if os.WriteFile(file+".new", raw, 0o600) != nil {
		return false
	}
	return os.Rename(file+".new", file) == nil
}

func trace(p Point) {
	raw, err := json.Marshal(p)
	if err != nil {
		return
	}
	tracing.Lock()
	defer tracing.Unlock()
	f, err := os.OpenFile(filepath.Join(folder, "trace"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(raw, '\n')) // a test that misses it fails
	_ = f.Close()
}
