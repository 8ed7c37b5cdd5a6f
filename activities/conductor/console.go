package conductor

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/console"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// heldConsole is a console that this conductor holds.
type heldConsole struct {
	node.ConsoleHeld
	keeper    *Consoles
	claimed   time.Time
	listener  net.Listener // nil = no port was free
	retry     time.Time    // when that is tried again
	cancel    context.CancelFunc
	confirmed atomic.Pointer[time.Time] // when the claim was certainly the newest
	over      chan struct{}             // closed when serve has ended, and with it every session that has the console of the BMC

	mu      sync.Mutex
	state   node.ConsoleState // as it was told last
	session bmc.Session       // the conversation in which the BMC's console is open
}

// leftBehind is how long after its claim a holder may take the console from a session that the holder before it has left at the BMC.
// BMCs end a session 60 s after its last packet (IPMI 2.0, 6.12.15). A session that has the console later is somebody else's.
const leftBehind = 2 * time.Minute

// left reports whether a session that has the console may be that of the holder before. The caller has locked mu.
func (h *heldConsole) left() bool { return h.Left && time.Since(h.claimed) < leftBehind }

// confirm notes that the claim was the newest at some time after at.
func (h *heldConsole) confirm(at time.Time) { h.confirmed.Store(&at) }

// listen begins to listen, and returns what is to be told of that. used are the ports of other consoles; the new one is added.
func (h *heldConsole) listen(used map[int]bool) node.ConsoleState {
	h.state = node.ConsoleState{ID: h.ID, Claim: h.Claim, Session: h.Left}
	var err error
	if port := h.ConsolePort(); port != 0 {
		h.listener, err = console.ListenAt(h.keeper.Address, port)
	} else {
		h.listener, err = h.keeper.Ports.Listen(h.keeper.Address, h.UUID, used)
	}
	if err != nil {
		h.listener, h.retry = nil, time.Now().Add(portPause)
		h.state.Error, h.state.Pause = err.Error(), portPause
		return h.state
	}
	used[h.listener.Addr().(*net.TCPAddr).Port] = true //nolint:forcetypeassert // it listens on TCP
	h.state.Address = h.listener.Addr().String()
	return h.state
}

// serve serves clients until ctx ends or close is called.
func (h *heldConsole) serve(ctx context.Context) {
	if h.listener == nil {
		close(h.over)
		return
	}
	ctx, h.cancel = context.WithCancel(ctx)
	r := console.Relay{Listener: h.listener, Open: h.open, Type: h.check, Failed: h.failed, Ended: h.ended, Idle: h.keeper.Idle}
	h.keeper.Log.Info("a console is held", zap.String("node", h.UUID), zap.String("address", h.state.Address))
	h.keeper.ends.Go(func() {
		defer close(h.over)
		r.Serve(ctx)
	})
}

// close ends what serve began. Nobody can connect any more when the client is told.
func (h *heldConsole) close() {
	if h.listener != nil {
		_ = h.listener.Close()
	}
	if h.cancel != nil {
		h.cancel()
	}
}

// closed waits until the console of the BMC is closed, after close, and reports whether it is. If ctx ends before that, it returns
// what is to be told: nobody listens any more, and a session may have the console, so that the next holder may take it.
func (h *heldConsole) closed(ctx context.Context) (bool, node.ConsoleState) {
	select {
	case <-h.over:
		return true, node.ConsoleState{}
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Address = ""
	return false, h.state
}

// open opens the console of the BMC. Right before that it records that a session may have the console, which also checks the claim:
// BMCs have one console, and a conductor that was frozen must not fight for it.
func (h *heldConsole) open(ctx context.Context) (bmc.Console, error) {
	if err := h.save(ctx, func(s *node.ConsoleState) { s.Session, s.Pause = true, 0 }); err != nil {
		return nil, err
	}
	sealed, err := h.keeper.Store.DriverSecrets(ctx, []node.Node{h.Node})
	if err != nil {
		return nil, err
	}
	s, err := openUnreserved(ctx, h.keeper.Drivers, &h.Node, sealed[h.ID])
	if err != nil {
		return nil, err
	}
	c, err := h.openIn(ctx, s)
	if err != nil {
		s.Close()
		return nil, err
	}
	h.mu.Lock()
	h.session, h.Left = s, false
	mended := h.state.Error != ""
	h.mu.Unlock()
	if mended {
		h.note(ctx, func(s *node.ConsoleState) { s.Error = "" })
	}
	return c, nil
}

// openIn opens the console in a conversation. It takes the console away from nobody but the conductor that held it before and could
// not give it back.
func (h *heldConsole) openIn(ctx context.Context, s bmc.Session) (bmc.Console, error) {
	if s.ConsoleOpener == nil {
		return nil, h.Unsupported("console")
	}
	c, err := s.OpenConsole(ctx)
	h.mu.Lock()
	left := h.left()
	h.mu.Unlock()
	if !left || !errors.Is(err, bmc.ErrConsoleInUse) {
		return c, err
	}
	if err := s.EndConsole(ctx); err != nil {
		return nil, err
	}
	return s.OpenConsole(ctx)
}

// failed records why the console could not be opened, or has ended.
func (h *heldConsole) failed(ctx context.Context, err error, pause time.Duration) {
	h.keeper.Log.Warn("a console has failed", zap.String("node", h.UUID), zap.Duration("tried again after", pause), zap.Error(err))
	h.note(ctx, func(s *node.ConsoleState) { s.Error, s.Pause, s.Session = fault.Text(err), pause, h.left() })
}

// ended records that no session has the console of the BMC any more.
func (h *heldConsole) ended(ctx context.Context) {
	h.mu.Lock()
	s := h.session
	h.session = bmc.Session{}
	h.mu.Unlock()
	s.Close()
	h.note(ctx, func(s *node.ConsoleState) { s.Session = false })
}

// check returns console.ErrClosed if another conductor may hold the console. It asks the database only if that has not confirmed the
// claim for so long that this conductor may have counted as dead.
func (h *heldConsole) check(ctx context.Context) error {
	if time.Since(*h.confirmed.Load()) < h.keeper.Timeout-h.keeper.Heartbeat {
		return nil
	}
	return h.save(ctx, func(*node.ConsoleState) {})
}

// note is save where the caller goes on in any case: what can't be written is written with the next change.
func (h *heldConsole) note(ctx context.Context, change func(*node.ConsoleState)) {
	if err := h.save(ctx, change); err != nil && !errors.Is(err, console.ErrClosed) {
		h.keeper.Log.Warn("what became of a console could not be recorded", zap.String("node", h.UUID), zap.Error(err))
	}
}

// save changes what is told of the console. It returns console.ErrClosed if the claim is not the newest any more.
func (h *heldConsole) save(ctx context.Context, change func(*node.ConsoleState)) error {
	h.mu.Lock()
	change(&h.state)
	state := h.state
	h.mu.Unlock()
	sent := time.Now()
	kept, err := h.keeper.Store.SaveConsoles(ctx, []node.ConsoleState{state})
	switch {
	case err != nil:
		return err
	case kept[h.ID] != h.Claim:
		return console.ErrClosed
	}
	h.confirm(sent)
	return nil
}
