package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/store"
)

func newKeysetCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "keyset", Short: "Create and rotate the keys that seal secrets", Args: cli.OnlySubcommands, RunE: cli.ShowHelp,
	}
	c.AddCommand(newKeysetNewCommand(), newKeysetRotateCommand(), newKeysetResealCommand())
	return c
}

func newKeysetNewCommand() *cobra.Command {
	return &cobra.Command{
		Use: "new FILE", Short: "Create a keyset with one key, in a file that only its owner can read", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			keys, err := store.NewKeyset()
			if err != nil {
				return fmt.Errorf("make a keyset: %w", err)
			}
			f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s is there already: what its keys have sealed could not be opened again", args[0])
			}
			if err != nil {
				return fmt.Errorf("make a keyset: %w", err)
			}
			_, err = f.WriteString(keys)
			return errors.Join(err, f.Sync(), f.Close())
		},
	}
}

func newKeysetRotateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate FILE",
		Short: "Add a key that seals from now on; older keys still open",
		Long: `Add a key that seals from now on; older keys still open what they have sealed.

Give the new file to all roles and restart them. Then seal all secrets with the new key: temper keyset reseal.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			before, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("rotate: %w", err)
			}
			after, err := store.AddKey(string(before))
			if err != nil {
				return fmt.Errorf("rotate %s: %w", args[0], err)
			}
			return replace(args[0], after)
		},
	}
}

// replace replaces a file in one step, because a keyset that is written half would lose every secret.
func replace(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".keyset-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func newKeysetResealCommand() *cobra.Command {
	r := &config.Reseal{}
	c := &cobra.Command{
		Use: "reseal", Short: "Seal everything in the database with the newest key", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := config.Load(r, c.Flags(), os.Environ()); err != nil {
				return fmt.Errorf("reseal: settings:\n%w", err)
			}
			keys, err := readKeyset(r.Database)
			if err != nil {
				return err
			}
			db, err := store.Open(c.Context(), store.Config{URL: r.URL, Keyset: keys, ApplicationName: "temper reseal"})
			if err != nil {
				return err
			}
			defer db.Close()
			n, err := db.Rotate(c.Context())
			if err != nil {
				return fmt.Errorf("reseal, after %d secrets: %w", n, err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%d secrets are sealed with the newest key now\n", n)
			return err
		},
	}
	config.Flags(c.Flags(), r)
	return c
}
