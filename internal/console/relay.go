// Package console gives the serial consoles of servers to clients of TCP ports, one client at a time.
//
// It knows no database: its caller says when a console may be opened, and is told what became of it.
package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"go.temper.dev/temper/internal/bmc"
)

// The pauses between two tries to open the console of a BMC.
const (
	FirstPause = time.Second
	MostPause  = time.Minute
)

// tellWithin is how long a client may take to receive a line about the console, before it is cut off.
const tellWithin = 2 * time.Second

// Reasons why the relay ends the connection of a client.
var (
	errIdle   = errors.New("nothing was sent or received for too long")
	errLeft   = errors.New("the client has left")
	ErrClosed = errors.New("the conductor does not hold this console any more; ask the API where it is now")
)

// Relay connects the clients of a listener with the console of one server. It opens the console when a client connects, and closes it
// when the client leaves, so that a console without a client costs the BMC no session. Clients get lines that begin with "temper:"
// about what is wrong. Nothing of what is typed or printed is logged.
type Relay struct {
	Listener net.Listener
	// Open opens the console of the BMC. If its error wraps ErrClosed, the client is disconnected; after any other error it is called
	// again after a pause, as long as the client stays.
	Open func(ctx context.Context) (bmc.Console, error)
	// Type is called before what a client has typed is sent to the console. An error disconnects the client.
	Type func(ctx context.Context) error
	// Failed is told why the console could not be opened or has ended, and after which pause it is opened again.
	Failed func(ctx context.Context, err error, pause time.Duration)
	// Ended is told that the console of the BMC was closed.
	Ended func(ctx context.Context)
	Idle  time.Duration // after which time without a byte in either direction a client is disconnected; 0 = never

	mu     sync.Mutex
	client net.Conn   // that has the console, or waits until that of the client before is closed; nil = there is none
	turn   sync.Mutex // held by a client until its console is closed
	pauses *backoff.ExponentialBackOff
	next   time.Time // the console is not opened before; guarded by turn
}

// Serve accepts clients until ctx ends, and returns when the last one is disconnected and the console is closed.
func (r *Relay) Serve(ctx context.Context) {
	r.pauses = backoff.NewExponentialBackOff()
	r.pauses.InitialInterval, r.pauses.MaxInterval, r.pauses.Multiplier, r.pauses.RandomizationFactor = FirstPause, MostPause, 2, 0
	stop := context.AfterFunc(ctx, func() { _ = r.Listener.Close() })
	defer stop()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := r.Listener.Accept()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) { // too many open files, say
				wait(ctx, FirstPause)
				continue
			}
			return
		}
		if !r.enter(conn) {
			tell(conn, "another client has this console")
			_ = conn.Close()
			continue
		}
		clients.Go(func() {
			r.turn.Lock()
			defer r.turn.Unlock()
			r.serve(ctx, conn)
		})
	}
}

// enter reports whether the console is free for a client, who has it then.
func (r *Relay) enter(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return false
	}
	r.client = conn
	return true
}

// leave lets the next client in.
func (r *Relay) leave(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == conn {
		r.client = nil
	}
}

// visit is a connected client.
type visit struct {
	net.Conn
	typed chan []byte
	end   context.CancelCauseFunc
	idle  *time.Timer // nil = it may do nothing for ever
	limit time.Duration
}

// alive notes that a byte was sent or received.
func (v *visit) alive() {
	if v.idle != nil {
		v.idle.Reset(v.limit)
	}
}

// serve serves one client until it leaves or is disconnected.
func (r *Relay) serve(served context.Context, conn net.Conn) {
	ctx, end := context.WithCancelCause(served)
	v := &visit{Conn: conn, typed: make(chan []byte), end: end, limit: r.Idle}
	if r.Idle > 0 {
		v.idle = time.AfterFunc(r.Idle, func() { end(errIdle) })
		defer v.idle.Stop()
	}
	var ending sync.WaitGroup
	ending.Add(1)
	context.AfterFunc(ctx, func() {
		defer ending.Done()
		r.leave(conn)
		if cause := context.Cause(ctx); !errors.Is(cause, errLeft) {
			tell(conn, reason(served, cause))
		}
		_ = conn.Close() // ends reading and writing
	})
	ending.Go(func() {
		v.read(ctx)
		end(errLeft)
	})
	defer func() { end(errLeft); ending.Wait() }()
	for v.pause(ctx, r.next) {
		err := r.once(ctx, v)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrClosed):
			end(err)
			return
		}
		pause := r.pauses.NextBackOff()
		r.next = time.Now().Add(pause)
		r.Failed(ctx, err, pause)
		tell(conn, fmt.Sprintf("%v; next try in %s", err, pause.Round(time.Second)))
	}
}

// once opens the console and connects the client with it, until one of them ends. It returns why the console could not be opened or
// has ended.
func (r *Relay) once(ctx context.Context, v *visit) error {
	console, err := r.Open(ctx)
	if err != nil {
		return err
	}
	opened := time.Now()
	defer r.Ended(context.WithoutCancel(ctx))
	err = r.connect(ctx, v, console)
	if time.Since(opened) > MostPause {
		r.pauses.Reset()
	}
	return err
}

// reason says to a client why it is disconnected.
func reason(served context.Context, cause error) string {
	if served.Err() != nil {
		return ErrClosed.Error()
	}
	return cause.Error()
}

// pause waits until next, and drops what is typed meanwhile; if next is past, it drops nothing. It returns false if the client has
// left.
func (v *visit) pause(ctx context.Context, next time.Time) bool {
	if !time.Now().Before(next) {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-v.typed:
		}
	}
}

// connect copies between the client and the console until one of them ends, closes the console, and returns why it has ended.
func (r *Relay) connect(ctx context.Context, v *visit, console bmc.Console) error {
	printed := make(chan error, 1)
	go func() { printed <- v.show(console) }()
	stop := context.AfterFunc(ctx, func() { _ = console.SetWriteDeadline(time.Unix(1, 0)) }) // ends a write that the BMC does not take
	defer stop()
	var err error
	ended := false
	for err == nil {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case err = <-printed:
			ended = true
		case keys := <-v.typed:
			if err = r.Type(ctx); err == nil {
				_, err = console.Write(keys)
			}
		}
	}
	if ctx.Err() != nil {
		r.leave(v.Conn) // before the console closes, because the next client may be waiting for that
	}
	_ = console.Close()
	if !ended {
		<-printed //nolint:errcheck // err says already why the connection ends
	}
	return err
}

// show sends to the client what the server prints. It returns the error of the console, or errLeft.
func (v *visit) show(console bmc.Console) error {
	buffer := make([]byte, 4096)
	for {
		n, err := console.Read(buffer)
		if n > 0 {
			v.alive()
			if _, failed := v.Write(buffer[:n]); failed != nil {
				v.end(errLeft)
				return errLeft
			}
		}
		if err != nil {
			return err
		}
	}
}

// read hands over what the client sends, until it leaves or ctx ends.
func (v *visit) read(ctx context.Context) {
	for {
		buffer := make([]byte, 1024)
		n, err := v.Read(buffer)
		if n > 0 {
			v.alive()
			select {
			case v.typed <- buffer[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// tell sends a client a line of our own.
func tell(conn net.Conn, words string) {
	_ = conn.SetWriteDeadline(time.Now().Add(tellWithin))
	_, _ = fmt.Fprintf(conn, "\r\ntemper: %s\r\n", words) // a client that does not take it has left
	_ = conn.SetWriteDeadline(time.Time{})
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
