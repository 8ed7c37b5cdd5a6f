package conductor

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/console"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

// foreignConsole is the console of a BMC that another session has.
type foreignConsole struct{ ended int }

func (f *foreignConsole) OpenConsole(context.Context) (bmc.Console, error) {
	return nil, bmc.ErrConsoleInUse
}

func (f *foreignConsole) EndConsole(context.Context) error {
	f.ended++
	return nil
}

// A holder takes the console from a session only as long as it can be that of the holder before.
func TestAConsoleIsTakenOnlyFromASessionThatWasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		left    bool
		claimed time.Duration // ago
		ends    int
	}{
		"left by the holder before":         {left: true, ends: 1},
		"left so long ago that it is over":  {left: true, claimed: leftBehind, ends: 0},
		"the holder before has given it up": {left: false, ends: 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := heldConsole{ConsoleHeld: node.ConsoleHeld{Left: c.left}, claimed: time.Now().Add(-c.claimed)}
			var f foreignConsole
			_, err := h.openIn(t.Context(), bmc.Session{ConsoleOpener: &f})
			require.ErrorIs(t, err, bmc.ErrConsoleInUse)
			require.Equal(t, c.ends, f.ended)
		})
	}
}

// stuckConsole is a console of which the BMC says that it is closed when the test lets it.
type stuckConsole struct {
	bmc.Console // what is not used
	closed      func()
	ended       chan struct{}
}

func (s *stuckConsole) OpenConsole(context.Context) (bmc.Console, error) { return s, nil }
func (s *stuckConsole) EndConsole(context.Context) error                 { return nil }
func (s *stuckConsole) SetWriteDeadline(time.Time) error                 { return nil }
func (s *stuckConsole) Write(b []byte) (int, error)                      { return len(b), nil }

func (s *stuckConsole) Read([]byte) (int, error) {
	<-s.ended
	return 0, bmc.ErrConsoleEnded
}

func (s *stuckConsole) Close() error {
	s.closed()
	close(s.ended)
	return nil
}

// consoleRig is a keeper of the console of one node, and what its store and its BMC have seen.
type consoleRig struct {
	mu       sync.Mutex
	owned    bool
	seen     []string
	state    node.ConsoleState
	released chan struct{}
	opened   chan struct{}
	console  *stuckConsole
}

func (r *consoleRig) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, what)
}

func (r *consoleRig) ConsolesOwned(context.Context, node.Host, []string, int64, int) ([]node.ConsoleOwned, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.owned {
		return nil, nil
	}
	return []node.ConsoleOwned{{ID: 1, Claim: 7}}, nil
}

func (r *consoleRig) HoldConsoles(context.Context, node.Host, []int64) ([]node.ConsoleHeld, error) {
	return []node.ConsoleHeld{{Node: node.Node{ID: 1, UUID: "u", Driver: "ipmi"}, Claim: 7}}, nil
}

func (r *consoleRig) SaveConsoles(_ context.Context, states []node.ConsoleState) (map[int64]int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = states[0]
	return map[int64]int64{1: 7}, nil
}

func (r *consoleRig) ReleaseConsoles(context.Context, map[int64]int64) error {
	r.note("released")
	close(r.released)
	return nil
}

func (r *consoleRig) DriverSecrets(context.Context, []node.Node) (map[int64]node.Secrets, error) {
	return map[int64]node.Secrets{1: {}}, nil
}

func (r *consoleRig) Validate(map[string]any) error { return nil }
func (r *consoleRig) Close(context.Context)         {}

func (r *consoleRig) Open(context.Context, bmc.Target) (bmc.Session, error) {
	close(r.opened)
	return bmc.Session{ConsoleOpener: r.console}, nil
}

// given connects a client with the console, takes the node away from the conductor, and returns what happened until the console was given
// back.
func given(t *testing.T, closed func(*consoleRig)) *consoleRig {
	r := &consoleRig{owned: true, released: make(chan struct{}), opened: make(chan struct{})}
	r.console = &stuckConsole{ended: make(chan struct{}), closed: func() { closed(r) }}
	k := &Consoles{
		Store: r, Drivers: map[string]bmc.Driver{"ipmi": r}, Address: netip.MustParseAddr("127.0.0.1"), Ports: console.Ports{First: 30000, End: 32000}, Timeout: time.Hour, Log: zap.NewNop(),
		Self: coverage.Conductor{Hostname: "c1", Interfaces: map[string]map[string][]string{"ipmi": {"console": {"ipmitool-socat"}}}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var kept sync.WaitGroup
	kept.Go(func() { k.Keep(ctx, 1) })
	defer func() { cancel(); kept.Wait() }()
	address := func() string {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.state.Address
	}
	require.Eventually(t, func() bool { return address() != "" }, time.Minute, time.Millisecond)
	client, err := net.Dial("tcp", address()) //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	<-r.opened
	r.mu.Lock()
	r.owned = false
	r.mu.Unlock()
	require.Eventually(t, func() bool {
		select {
		case <-r.released:
			return true
		default:
			return address() == ""
		}
	}, time.Minute, time.Millisecond)
	return r
}

// Otherwise the next owner finds the console of the BMC in use, and may not take it.
func TestAConsoleIsReleasedWhenTheBMCHasClosedIt(t *testing.T) {
	t.Parallel()
	r := given(t, func(r *consoleRig) {
		select {
		case <-r.released: // too early
		case <-time.After(300 * time.Millisecond):
		}
		r.note("closed")
	})
	require.Equal(t, []string{"closed", "released"}, r.seen)
}

// The next owner has to know of the session that may still have the console.
func TestAConsoleThatTheBMCDoesNotCloseStaysClaimed(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	r := given(t, func(r *consoleRig) { <-let })
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Empty(t, r.seen)
	require.Empty(t, r.state.Address, "nobody listens any more")
	require.True(t, r.state.Session)
	close(let)
}
