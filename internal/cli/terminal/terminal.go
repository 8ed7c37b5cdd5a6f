// Package terminal connects standard input and output with the serial console of a server.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
)

// Console is the serial console of a server. Read and Write end with Close.
type Console interface {
	io.ReadWriteCloser
	// SendBreak sends a break after what was written.
	SendBreak(ctx context.Context) error
}

// Streams are those of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// errLeft means that the user has typed ~. to leave the console.
var errLeft = errors.New("left the console")

// Connect connects the console with the streams until the user leaves, the console ends, the limit is over (0 = there is none), or
// ctx ends, which is exit.CodeInterrupted. Then it closes the console. On a terminal every key goes to the server, except those of
// Help. The end of standard input alone ends nothing.
func Connect(ctx context.Context, s Streams, console Console, limit time.Duration) (err error) {
	printed := make(chan error, 1)
	defer func() {
		err = errors.Join(err, console.Close())
		for range printed { // until nothing is written any more
		}
	}()
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	typed := make(chan error, 1)
	keys := io.Writer(console)
	terminal := input.IsTerminal(s.In)
	if terminal {
		file := s.In.(*os.File) //nolint:forcetypeassert // a terminal is a file
		before, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			close(printed)
			return fmt.Errorf("set the terminal to raw mode: %w", err)
		}
		defer func() { _ = term.Restore(int(file.Fd()), before) }()
		keys = newEscapes(ctx, console, s.Err)
		fmt.Fprint(s.Err, "temper: the console is open; ~. at the beginning of a line leaves it, ~? shows more\r\n")
	} else {
		fmt.Fprintln(s.Err, "temper: the console is open; SIGINT, SIGTERM or the end of --for leaves it")
	}
	// Nobody can interrupt the reading of standard input: that goroutine ends with the process.
	go func() { _, err := io.Copy(keys, s.In); typed <- err }()
	go func() {
		defer close(printed)
		_, err := io.Copy(s.Out, console)
		printed <- err
	}()
	for {
		select {
		case err := <-typed:
			switch {
			case errors.Is(err, errLeft):
				fmt.Fprint(s.Err, "\r\ntemper: left the console\r\n")
				return nil
			case err != nil || terminal:
				return err
			}
			typed = nil // standard input has ended; the server goes on
		case err := <-printed:
			return err
		case <-over:
			return nil
		case <-ctx.Done():
			return exit.WithCode(exit.CodeInterrupted, errors.New("interrupted"))
		}
	}
}
