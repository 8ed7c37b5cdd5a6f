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

After the database was restored from a backup, run it with --restored before the other roles start: operations and events that
follow get numbers that were given to no others, and streams of events and webhooks tell their clients to read the state anew.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := config.Load(r, c.Flags(), os.Environ()); err != nil {
				return fmt.Errorf("migrate: settings:\n%w", err)
			}
			if err := store.Migrate(c.Context(), r.URL); err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), "the tables are up to date"); err != nil || !restored {
				return err
			}
			if err := store.SkipNumbers(c.Context(), r.URL); err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), "operations and events that follow have numbers that were not given before")
			return err
		},
	}
	c.Flags().BoolVar(&restored, "restored", false, "the database was restored from a backup: skip the numbers that may have been given since")
	config.Flags(c.Flags(), r)
	return c
}
