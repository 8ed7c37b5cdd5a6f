package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/pgserver"
)

func newPrepareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare",
		Short: "Find PostgreSQL, or install it if that is possible",
		Long: `Find PostgreSQL in PATH and the usual places. If it is missing, root installs Debian's package, without starting its server;
anybody else is told the command to run.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			bins, err := pgserver.Find()
			if errors.Is(err, pgserver.ErrNotFound) {
				if err = pgserver.Install(c.Context(), c.ErrOrStderr()); err == nil {
					bins, err = pgserver.Find()
				}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "PostgreSQL %d is in %s\n", bins.Major, bins.Dir)
			return err
		},
	}
}
