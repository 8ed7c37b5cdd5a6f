package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/store"
)

func newMigrateCommand() *cobra.Command {
	r := &config.Migrate{}
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the tables in PostgreSQL up to date",
		Long: `Bring the tables in PostgreSQL up to date, and seal again the secrets that an older version of the program has sealed.

Stop the other roles first. If there are such secrets, migrate needs the keyset of the other roles (keyset_file or
keyset). If it was interrupted, run it again.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := config.Load(r, c.Flags(), os.Environ()); err != nil {
				return fmt.Errorf("migrate: settings:\n%w", err)
			}
			keys, err := readKeyset(config.Database{KeysetFile: r.KeysetFile, Keyset: r.Keyset})
			if err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			done, err := store.Upgrade(c.Context(), store.Config{URL: r.URL, Keyset: keys, ApplicationName: "temper migrate"})
			if err != nil {
				return fmt.Errorf("migrate: %w", err)
			}
			return printUpgraded(c.OutOrStdout(), done)
		},
	}
	config.Flags(c.Flags(), r)
	return c
}

// maxListed is the number of secrets that do not open and are listed.
const maxListed = 10

func printUpgraded(w io.Writer, done store.Upgraded) error {
	text := "the tables are up to date\n"
	if done.Renewed > 0 {
		text += fmt.Sprintf("%d secrets were sealed again\n", done.Renewed)
	}
	for _, err := range done.Closed[:min(len(done.Closed), maxListed)] {
		text += fmt.Sprintf("not sealed again: %v\n", err)
	}
	if more := len(done.Closed) - maxListed; more > 0 {
		text += fmt.Sprintf("not sealed again: %d more\n", more)
	}
	_, err := io.WriteString(w, text)
	return err
}
