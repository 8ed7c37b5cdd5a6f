package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/terminal"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/text"
)

func newNodeConsole(s *session) *cobra.Command {
	var limit time.Duration
	c := &cobra.Command{
		Use: "console NODE", Short: "Open the serial console of a node", Args: cobra.ExactArgs(1),
		Long: `Open the serial console of a node. Enable it first: "temper node console enable NODE". One client at a time can have it. What the
server printed before is not shown.

A conductor holds the console, and the API tells which one. This command connects to that conductor, so it must reach its TCP port: by
default conductors listen on 127.0.0.1 only, so that it runs on the conductor's host (setting console.socat_address). If another conductor takes
the console over, the command continues there. If none has it, the command says why and tries again for a minute.
"temper node console show NODE" says who has the console and what is wrong with it.

On a terminal every key goes to the server, Ctrl-C too. At the beginning of a line, these do not:

` + terminal.Help + `

~B does nothing here: a break can't be sent over this connection. "temper bmc console" can send one. Lines that begin with "temper:" come from Temper.

Without a terminal, standard input is sent as it is. After its end, what the server prints is shown until Ctrl-C (SIGINT) or SIGTERM comes or
the time of --for is over.`,
		Example: "  temper node console enable n1\n  temper node console n1\n  temper node console n1 --for 10m", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.Flags().DurationVar(&limit, "for", 0, "leave the console after this time, such as 10m; without it the command stays")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		l := &consoleLine{name: args[0], find: s.Console, tell: s.err}
		l.ctx, l.end = context.WithCancel(ctx)
		defer l.end()
		if err := l.connect(); err != nil {
			return err
		}
		return terminal.Connect(ctx, terminal.Streams{In: s.in, Out: s.out, Err: s.err}, l, limit)
	})
	c.AddCommand(
		consoleCommand(s, true, "enable", "Have conductors hold the serial consoles of nodes for clients"),
		consoleCommand(s, false, "disable", "End the serial consoles of nodes, and disconnect their clients"),
		newConsoleShow(s),
	)
	return c
}

func consoleCommand(s *session, on bool, word, short string) *cobra.Command {
	var sel selection
	c := &cobra.Command{Use: word + " NODE...", Short: short, Example: "  temper node console " + word + " n1 n2"}
	sel.addFlags(c, s, "")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		names, err := sel.nodes(ctx, s, args, word+" the console of")
		if err != nil {
			return err
		}
		return s.report(names, forEach(ctx, names, sel.parallel, "", func(ctx context.Context, name string) (string, error) {
			return "console " + word + "d", s.EnableConsole(ctx, name, on)
		}))
	})
	return c
}

func newConsoleShow(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "show NODE", Short: "Show where the serial console of a node is, and what is wrong with it", Args: cobra.ExactArgs(1),
		Example: "  temper node console show n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		at, err := s.Console(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(at, func(w io.Writer) error {
			g := table.New("NODE", "ENABLED", "CONDUCTOR", "URL", "ERROR", "TRIED AGAIN").Whole("URL", "TRIED AGAIN").Wrap("ERROR")
			g.Add(cmp.Or(at.NodeName, at.NodeUUID), table.YesNo(at.Enabled), at.Conductor, at.URL, at.Error, table.Time(at.NextAt))
			return g.Print(w)
		})
	})
	return c
}

// consoleWait is how long a console that no conductor holds is waited for: longer than it takes until a conductor counts as dead and
// another one has its nodes.
const consoleWait = time.Minute

// consoleDialer connects to conductors. It finds out soon that one is not there, or not any more.
var consoleDialer = net.Dialer{
	Timeout:         3 * time.Second,
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
}

// consoleLine is the connection to the console of a node at whatever conductor holds it.
type consoleLine struct {
	ctx  context.Context // ends with Close
	end  context.CancelFunc
	name string
	find func(ctx context.Context, node string) (client.Console, error)
	tell io.Writer

	mu   sync.Mutex
	conn net.Conn
	at   int64 // the claim of the conductor at its other end
}

// connect connects to the conductor that the API names. If none holds the console, it asks again for consoleWait.
func (l *consoleLine) connect() error {
	before, told := l.claim(), ""
	until := time.Now().Add(consoleWait)
	_, err := backoff.Retry(l.ctx, func() (net.Conn, error) {
		at, err := l.find(l.ctx, l.name)
		switch {
		case err != nil:
			return nil, backoff.Permanent(withAdvice(err))
		case !at.Enabled:
			return nil, backoff.Permanent(fmt.Errorf("the console of node %s is not enabled; temper node console enable %s enables it", l.name, l.name))
		case at.URL == "":
			return nil, fmt.Errorf("no conductor holds the console of node %s%s; temper node console show %s says more", l.name, table.Optional(": ", table.Clause(at.Error)), l.name)
		}
		conn, err := consoleDialer.DialContext(l.ctx, "tcp", strings.TrimPrefix(at.URL, "tcp://"))
		if err != nil {
			return nil, fmt.Errorf("connect to conductor %s, which holds the console of node %s: %w; if it listens on its own loopback only, run this on its host, or set console.socat_address of the conductor", at.Conductor, l.name, err)
		}
		if at.Claim == before {
			_ = conn.Close()
			return nil, l.refused(before)
		}
		l.set(conn, at.Claim)
		return conn, nil
	}, backoff.WithBackOff(backoff.NewConstantBackOff(time.Second)), backoff.WithMaxElapsedTime(consoleWait), backoff.WithNotify(func(err error, _ time.Duration) {
		if words := err.Error(); words != told { // each reason once
			told = words
			fmt.Fprintf(l.tell, "temper: %s; trying again until %s\r\n", words, text.Clock(until, time.Now()))
		}
	}))
	if l.ctx.Err() != nil {
		return exit.WithCode(exit.CodeInterrupted, errors.New("interrupted"))
	}
	return err
}

// refused returns why the connection does not go on with a conductor that listens: it has ended the connection itself, for example
// because nothing was sent for too long. The API still names the claim of a conductor that has died. If something listens there
// nevertheless, it has been started again and has claimed the console anew.
func (l *consoleLine) refused(before int64) error {
	err := errors.New("the conductor has ended the connection")
	if at, failed := l.find(l.ctx, l.name); failed == nil && at.Claim != before {
		return err
	}
	return backoff.Permanent(err)
}

func (l *consoleLine) set(conn net.Conn, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.at = conn, at
}

func (l *consoleLine) current() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

func (l *consoleLine) claim() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// Read returns what the server prints. If the connection ends, it looks for the conductor that has the console now.
func (l *consoleLine) Read(p []byte) (int, error) {
	for {
		n, err := l.current().Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if l.ctx.Err() != nil {
			return 0, io.EOF
		}
		fmt.Fprint(l.tell, "\r\ntemper: the connection has ended; looking for the conductor that has the console now\r\n")
		if err := l.connect(); err != nil {
			return 0, err
		}
		fmt.Fprint(l.tell, "temper: connected again\r\n")
	}
}

// Write sends what is typed. What is typed while no conductor has the console is lost, as on a serial line.
func (l *consoleLine) Write(p []byte) (int, error) {
	_, _ = l.current().Write(p)
	return len(p), nil
}

// SendBreak says that a break can't be sent: the connection has nothing but the bytes of the console.
func (l *consoleLine) SendBreak(context.Context) error {
	fmt.Fprint(l.tell, "\r\ntemper: a break can't be sent over this connection\r\n")
	return nil
}

// Close ends the connection.
func (l *consoleLine) Close() error {
	l.end()
	return l.current().Close()
}
