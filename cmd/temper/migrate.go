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
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the tables in PostgreSQL up to date",
		Long: `Bring the tables in PostgreSQL up to date.

Stop the other roles first. If it was interrupted, run it again.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := config.Load(r, c.Flags(), os.Environ()); err != nil {
				return fmt.Errorf("migrate: settings:\n%w", err)
			}
			if err := store.Migrate(c.Context(), r.URL); err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), "the tables are up to date")
			return err
		},
	}
	config.Flags(c.Flags(), r)
	return c
}
