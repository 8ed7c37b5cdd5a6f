package chaos

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// look is how often it is looked for the release: a process that was frozen is to go on before it hears that others have
// its work.
const look = 5 * time.Millisecond

var (
	folder   = os.Getenv(Env)
	watch    sync.Once
	released = make(chan struct{})
	stopped  sync.Map // by node
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
	if json.Unmarshal(raw, &a) != nil || !stops(a, p) {
		return
	}
	watch.Do(func() { go awaitRelease() })
	over := ctx.Done()
	if a.Deaf {
		over = nil
	}
	select {
	case <-released:
	case <-over:
	}
}

// RunTimeout is how long a workflow that is started now may run; 0 = for ever.
func RunTimeout() time.Duration {
	raw, err := os.ReadFile(filepath.Join(folder, "limit"))
	if folder == "" || err != nil {
		return 0
	}
	d, _ := time.ParseDuration(string(raw)) // a test that misses it fails
	return d
}

// stops tells whether to stop here. Where one attempt has stopped, another one of the same process does so at its first
// point: on a busy machine the first one's heartbeats may come too late. An undo is another matter.
func stops(a Arm, p Point) bool {
	if _, before := stopped.Load(p.Node); before {
		return p.Step != Undo
	}
	if a.Name != p.Name || a.Step != "" && a.Step != p.Step || a.Request != "" && a.Request != p.Request {
		return false
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return false
	}
	stopped.Store(p.Node, true)
	file := filepath.Join(folder, "reached", p.Node)
	return os.WriteFile(file+".new", raw, 0o600) == nil && os.Rename(file+".new", file) == nil
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

func trace(p Point) {
	raw, err := json.Marshal(Passed{Point: p, At: time.Now()})
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
