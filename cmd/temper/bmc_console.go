package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
)

func newBMCConsoleCommand() *cobra.Command {
	var f ipmiFlags
	var deactivate bool
	var limit time.Duration
	c := f.add(&cobra.Command{
		Use: "console ADDRESS", Short: "Open the serial console of a server (IPMI)",
		Long: `Open the serial console of a server over IPMI (Serial over LAN). One session at a time can have it. What the server
printed before is not shown.

On a terminal every key goes to the server, Ctrl-C too. At the beginning of a line, these do not:

  ~.  leave the console
  ~B  send a break
  ~~  send one ~
  ~?  show this list

Without a terminal, standard input is sent as it is. After its end, what the server prints is shown until SIGINT or
SIGTERM comes or the time of --for is over.`,
		Example: "  temper bmc console 10.0.0.7 --username admin\n  temper bmc console 10.0.0.7 --username admin --password-file pw --for 10m </dev/null >boot.log",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.passwordFile == "-" && !deactivate:
				return exit.Usage(errors.New("--password-file - : standard input is what is typed at the console; use a file or " + passwordVariable))
			case limit < 0:
				return exit.Usage(fmt.Errorf("--for is %s: it must be above 0, such as 10m", limit))
			}
			return f.with(c, args[0], func(ctx context.Context, s bmc.Session) error {
				if deactivate {
					return s.EndConsole(ctx)
				}
				err := useConsole(ctx, c, s, limit)
				if errors.Is(err, bmc.ErrConsoleInUse) {
					return fmt.Errorf("%w; --deactivate takes it away from that session", err)
				}
				return err
			})
		},
	})
	c.Flags().BoolVar(&deactivate, "deactivate", false, "take the console away from whoever has it, and open nothing")
	c.Flags().DurationVar(&limit, "for", 0, "leave the console after this time")
	return c
}

// errLeft means that the user has typed ~. to leave the console.
var errLeft = errors.New("left the console")

// useConsole connects the console with standard input and output until one of them ends.
func useConsole(ctx context.Context, c *cobra.Command, s bmc.Session, limit time.Duration) (err error) {
	console, err := s.OpenConsole(ctx)
	if err != nil {
		return err
	}
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
	in := c.InOrStdin()
	keys := io.Writer(console)
	terminal := input.IsTerminal(in)
	if terminal {
		file := in.(*os.File) //nolint:forcetypeassert // a terminal is a file
		before, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			close(printed)
			return fmt.Errorf("set the terminal to raw mode: %w", err)
		}
		defer func() { _ = term.Restore(int(file.Fd()), before) }()
		keys = newEscapes(ctx, console, c.ErrOrStderr())
		fmt.Fprint(c.ErrOrStderr(), "temper: the console is open; ~. at the beginning of a line leaves it, ~? shows more\r\n")
	} else {
		fmt.Fprintln(c.ErrOrStderr(), "temper: the console is open; SIGINT, SIGTERM or the end of --for leaves it")
	}
	// Nobody can interrupt the reading of standard input: that goroutine ends with the process.
	go func() { _, err := io.Copy(keys, in); typed <- err }()
	go func() {
		defer close(printed)
		_, err := io.Copy(c.OutOrStdout(), console)
		printed <- err
	}()
	for {
		select {
		case err := <-typed:
			switch {
			case errors.Is(err, errLeft):
				fmt.Fprint(c.ErrOrStderr(), "\r\ntemper: left the console\r\n")
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

// escapes sends keys to a console and does what those after a ~ at the beginning of a line say, as ipmitool does.
type escapes struct {
	ctx     context.Context
	console bmc.Console
	tell    io.Writer
	begin   bool // the next key is the first of a line
	escaped bool // a ~ came at the beginning of a line
}

func newEscapes(ctx context.Context, console bmc.Console, tell io.Writer) *escapes {
	return &escapes{ctx: ctx, console: console, tell: tell, begin: true}
}

// Write returns errLeft if somebody leaves the console.
func (e *escapes) Write(keys []byte) (int, error) {
	var plain []byte // to be sent
	send := func() error {
		_, err := e.console.Write(plain)
		plain = plain[:0]
		return err
	}
	for _, key := range keys {
		switch {
		case !e.escaped && e.begin && key == '~':
			e.escaped = true
			continue
		case e.escaped:
			e.escaped = false
			if err := send(); err != nil {
				return 0, err
			}
			done, err := e.escape(key)
			if err != nil {
				return 0, err
			}
			if done {
				continue
			}
			if key != '~' {
				plain = append(plain, '~')
			}
		}
		plain = append(plain, key)
		e.begin = key == '\r' || key == '\n'
	}
	if err := send(); err != nil {
		return 0, err
	}
	return len(keys), nil
}

// escape does what the key after ~ says, and reports whether it says something.
func (e *escapes) escape(key byte) (done bool, err error) {
	switch key {
	case '.':
		return true, errLeft
	case 'B':
		return true, e.console.SendBreak(e.ctx)
	case '?':
		fmt.Fprint(e.tell, "\r\n~.  leave the console\r\n~B  send a break\r\n~~  send one ~\r\n~?  show this list\r\n")
		return true, nil
	}
	return false, nil
}
