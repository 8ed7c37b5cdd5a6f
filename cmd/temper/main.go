// Command temper is all roles of Temper and its command line. It reads the settings, builds the parts of a role and runs them.
// What the parts do is in the packages that it imports.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/cli/exit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process the hard way.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[0], os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "temper:", err)
		os.Exit(exit.Code(err))
	}
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// run is the whole program, which the user has called as program.
func run(ctx context.Context, program string, args []string, io stdio) error {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	return cli.Execute(ctx, root, program)
}
