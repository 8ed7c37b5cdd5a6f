package chaos

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// releasePoll is how often the process looks for the file release. It is short, so that a process that was frozen goes on
// before it learns that others have its work.
const releasePoll = 5 * time.Millisecond

var (
	folder   = os.Getenv(Env)
	watch    sync.Once
	released = make(chan struct{})
	stopped  sync.Map // by node
	tracing  sync.Mutex
)

// At stops the caller if an Arm matches p, until the release or, unless the Arm is deaf, until ctx ends.
func At(ctx context.Context, p Point) {
	if folder == "" {
		return
	}
	Trace(p)
	raw, err := os.ReadFile(filepath.Join(folder, "arm", p.Node))
	if err != nil {
		return
	}
	var a Arm
	if json.Unmarshal(raw, &a) != nil || !shouldStop(a, p) {
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

// RunTimeout is the run timeout for a workflow that is started now; 0 = none.
func RunTimeout() time.Duration {
	raw, err := os.ReadFile(filepath.Join(folder, "limit"))
	if folder == "" || err != nil {
		return 0
	}
	d, _ := time.ParseDuration(string(raw)) // a test with a wrong limit fails
	return d
}

// shouldStop reports whether to stop at p. After one attempt has stopped, another attempt in the same process stops at its
// first point: on a busy machine the heartbeats of the first may come too late, so that Temporal starts a second one. An
// undo does not stop then.
func shouldStop(a Arm, p Point) bool {
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
		time.Sleep(releasePoll)
	}
}

// Trace adds p to the points that the process has passed.
func Trace(p Point) {
	if folder == "" {
		return
	}
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
	_, _ = f.Write(append(raw, '\n')) // a test that misses the line fails
	_ = f.Close()
}
