package bmctest

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temper.dev/temper/internal/bmc"
)

// errGuard is the error of the suite's guard when it is shut.
var errGuard = errors.New("the claim is not ours any more")

// guard is a bmc.Target.Guard that counts its calls and fails while it is shut.
type guard struct {
	mu    sync.Mutex
	asked int
	shut  bool
}

func (g *guard) ask(_ context.Context, r bmc.Request) (time.Time, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	if g.shut {
		return time.Time{}, errGuard
	}
	return time.Now().Add(r.AnswerWithin), nil
}

func (g *guard) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

func (g *guard) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
}
