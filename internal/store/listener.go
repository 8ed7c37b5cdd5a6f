package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The channels of a listener.
const (
	eventsChannel = "temper_events"
	endsChannel   = "temper_operation_ended" // with the uuid of the node
)

// Times of a listener.
const (
	listenIdle   = 15 * time.Second // without a notification, until the connection is tried
	listenLinger = 30 * time.Second // after the last who listened, until the connection is closed
)

// listener gives the notifications of one connection, beside the pool, to all who listen in this process. The connection is
// open while somebody listens, and for listenLinger after that.
type listener struct {
	connect func(context.Context) (*pgx.Conn, error)
	opening chan struct{} // holds one element while the connection is opened

	mu     sync.Mutex
	line   *line // nil = there is none
	users  int   // of line
	idle   *time.Timer
	closed bool
}

func newListener(connect func(context.Context) (*pgx.Conn, error)) *listener {
	return &listener{connect: connect, opening: make(chan struct{}, 1)}
}

// connectToListen makes a connection beside the pool.
func connectToListen(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	c := pool.Config().ConnConfig
	c.RuntimeParams["application_name"] += " events"
	return pgx.ConnectConfig(ctx, c)
}

// line is one connection of a listener, until it breaks or is closed.
type line struct {
	stop context.CancelFunc
	over chan struct{} // closed when nothing is heard any more; err says why
	err  error

	mu     sync.Mutex
	events map[chan struct{}]bool
	ends   map[string]map[chan struct{}]bool // by the uuid of the node
}

// listen returns the connection, which listens by then. Whoever listens must call leave.
func (l *listener) listen(ctx context.Context) (*line, error) {
	select {
	case l.opening <- struct{}{}:
	case <-ctx.Done():
		return nil, mapError("listen for notifications", ctx.Err())
	}
	defer func() { <-l.opening }()
	if open := l.join(); open != nil {
		return open, nil
	}
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, mapError("listen for notifications", err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+eventsChannel+"; LISTEN "+endsChannel); err != nil {
		closeConn(conn)
		return nil, mapError("listen for notifications", err)
	}
	return l.use(conn), nil
}

// join returns the connection if one is open.
func (l *listener) join() *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line == nil || l.line.isOver() {
		return nil
	}
	l.users++
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	return l.line
}

func (l *listener) use(conn *pgx.Conn) *line {
	ctx, stop := context.WithCancel(context.Background())
	n := &line{stop: stop, over: make(chan struct{}), events: map[chan struct{}]bool{}, ends: map[string]map[chan struct{}]bool{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line, l.users = n, 1
	if l.closed {
		stop()
	}
	go n.run(ctx, conn)
	return n
}

// leave is called by each that has listened over n.
func (l *listener) leave(n *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line != n { // another connection has taken its place
		return
	}
	if l.users--; l.users == 0 {
		l.idle = time.AfterFunc(listenLinger, func() { l.rest(n) })
	}
}

// rest closes n, unless somebody listens over it again.
func (l *listener) rest(n *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line == n && l.users == 0 {
		n.stop()
		l.line = nil
	}
}

// close closes the connection, and any that is opened later.
func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	n := l.line
	if l.idle != nil {
		l.idle.Stop()
	}
	l.mu.Unlock()
	if n != nil {
		n.stop()
		<-n.over
	}
}

func (n *line) isOver() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

func (n *line) run(ctx context.Context, conn *pgx.Conn) {
	defer n.stop()
	for {
		heard, err := waitForNotification(ctx, conn, listenIdle)
		if err != nil {
			closeConn(conn)
			n.err = err
			close(n.over)
			return
		}
		if heard != nil {
			n.tell(heard)
		}
	}
}

// tell wakes those who listen for the notification. Several before they have woken are one.
func (n *line) tell(heard *pgconn.Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	who := n.events
	if heard.Channel == endsChannel {
		who = n.ends[heard.Payload]
	}
	for c := range who {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// toEvents returns a channel that gets a value when events were written.
func (n *line) toEvents() (heard chan struct{}, stop func()) {
	heard = make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events[heard] = true
	return heard, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.events, heard)
	}
}

// toEnds returns a channel that gets a value when an operation of the node has ended.
func (n *line) toEnds(nodeUUID string) (heard chan struct{}, stop func()) {
	heard = make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ends[nodeUUID] == nil {
		n.ends[nodeUUID] = map[chan struct{}]bool{}
	}
	n.ends[nodeUUID][heard] = true
	return heard, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if delete(n.ends[nodeUUID], heard); len(n.ends[nodeUUID]) == 0 {
			delete(n.ends, nodeUUID)
		}
	}
}

// waitForNotification returns the next notification, nil if none came in the time idle and the server is still there.
func waitForNotification(ctx context.Context, conn *pgx.Conn, idle time.Duration) (*pgconn.Notification, error) {
	wait, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	n, err := conn.WaitForNotification(wait)
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case wait.Err() == nil:
		return nil, mapError("wait for notifications", err)
	}
	ask, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return nil, mapError("wait for notifications", conn.Ping(ask))
}

// closeConn closes a connection that has nothing to lose.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
	defer cancel()
	_ = conn.Close(ctx)
}
