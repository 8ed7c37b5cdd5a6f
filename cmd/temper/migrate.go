package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/store"
)

func newMigrateCommand() *cobra.Command {
	r := &config.Migrate{}
	var restored bool
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the tables in PostgreSQL up to date",
		Long: `Bring the tables in PostgreSQL up to date.

Stop the other roles first. If it was interrupted, run it again.

After the database was restored from a backup, run it with --restored before the other roles start. Operations and events that
follow get numbers that were given to no others, and streams of events and webhooks tell their clients to read the state again. Nodes
on which an operation was open, or which owe an undo, go into maintenance: their servers may have been deployed again since.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := config.Load(r, c.Flags(), os.Environ()); err != nil {
				return fmt.Errorf("migrate: settings:\n%w", err)
			}
			for _, key := range config.Allowed(r) {
				c.PrintErrln(key + " is set: what this program says crosses the network without TLS")
			}
			if err := store.Migrate(c.Context(), r.URL); err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), "the tables are up to date"); err != nil || !restored {
				return err
			}
			nodes, err := store.Restored(c.Context(), r.URL)
			if err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "operations and events that follow have numbers that were not given before; %d nodes with unfinished work are in maintenance\n", nodes)
			return err
		},
	}
	c.Flags().BoolVar(&restored, "restored", false, "the database was restored from a backup: skip numbers that may have been given since, and keep unfinished work from touching servers")
	config.Flags(c.Flags(), r)
	return c
}
