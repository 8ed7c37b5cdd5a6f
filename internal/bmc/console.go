package bmc

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrConsoleInUse is wrapped by the error of a console that another session has.
var ErrConsoleInUse = errors.New("another session has the console")

// ErrConsoleEnded is wrapped by the error of a console that the BMC has ended, for example
// because somebody asked it to (ConsoleOpener.EndConsole).
var ErrConsoleEnded = errors.New("the BMC has ended the console")

// Console is the serial console of a server. Read returns what the server prints, which is not
// changed in any way. What it printed before the console was opened is not shown. Write sends
// what somebody types; it returns before the server has it. The server may print nothing for
// days: Read then waits. If the console is broken, Read returns what came before, and then it
// and Write return the error: a *fault.Error of kind Unreachable, or Refused with
// ErrConsoleEnded. All methods are safe for concurrent use; Read and Write end with Close.
type Console interface {
	io.Reader
	io.Writer
	// SetReadDeadline and SetWriteDeadline are those of net.Conn.
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	// SendBreak sends a break after what was written. It returns when the BMC has it.
	SendBreak(ctx context.Context) error
	// Close sends what was written and gives the console back, so that others can have it. It
	// takes at most twice as long as the BMC may take for an answer.
	Close() error
}

// ConsoleOpener opens the serial console of a server. Consoles are for people, and steps open
// none: what is typed is not guarded.
type ConsoleOpener interface {
	// OpenConsole opens the console; ctx bounds only that. A BMC lets one session have it. If it
	// is another one, the error is a fault.Busy that wraps ErrConsoleInUse.
	OpenConsole(ctx context.Context) (Console, error)
	// EndConsole takes the console away from whoever has it. If nobody has it, that is no error.
	EndConsole(ctx context.Context) error
}
