package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/terminal"
)

func newBMCConsoleCommand() *cobra.Command {
	var f bmcFlags
	var deactivate bool
	var limit time.Duration
	c := f.addIPMI(&cobra.Command{
		Use: "console ADDRESS", Short: "Open the serial console of a server (IPMI)",
		Long: `Open the serial console of a server over IPMI (Serial over LAN), without a node or an API. One session at a time can
have it; with --deactivate it is taken away from the session that has it. What the server printed before is not shown.

On a terminal every key goes to the server, Ctrl-C too. At the beginning of a line, these do not:

` + terminal.Help + `

Without a terminal, standard input is sent as it is. After its end, what the server prints is shown until Ctrl-C
(SIGINT) or SIGTERM comes or the time of --for is over.`,
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
				switch {
				case errors.Is(err, bmc.ErrConsoleInUse):
					return fmt.Errorf("%w; the same command with --deactivate takes it away from that session, then open it again", err)
				case errors.Is(err, bmc.ErrConsoleEnded):
					return fmt.Errorf("%w; start the command again to open it once more", err)
				}
				return err
			})
		},
	})
	c.Flags().BoolVar(&deactivate, "deactivate", false, "take the console away from whoever has it, and open nothing")
	c.Flags().DurationVar(&limit, "for", 0, "leave the console after this time, such as 10m; without it the command stays")
	return c
}

// useConsole opens the console and connects it with standard input and output.
func useConsole(ctx context.Context, c *cobra.Command, s bmc.Session, limit time.Duration) error {
	console, err := s.OpenConsole(ctx)
	if err != nil {
		return err
	}
	return terminal.Connect(ctx, terminal.Streams{In: c.InOrStdin(), Out: c.OutOrStdout(), Err: c.ErrOrStderr()}, console, limit)
}
