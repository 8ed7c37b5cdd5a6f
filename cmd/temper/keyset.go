package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/store"
)

func newKeysetCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "keyset", Short: "Create and rotate the keys that seal secrets", Args: cli.OnlySubcommands, RunE: cli.ShowHelp,
	}
	c.AddCommand(newKeysetNewCommand(), newKeysetRotateCommand(), newKeysetResealCommand(), newKeysetStatusCommand(), newKeysetRetireCommand())
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
	prepare := false
	c := &cobra.Command{
		Use:   "rotate FILE",
		Short: "Add a key that seals from now on; older keys still open",
		Long: `Add a key that seals from now on; older keys still open what they have sealed. Processes read the file again every few seconds, and need
no restart.

If the processes have copies of the file, for example on several hosts, do this in two steps, so that no process meets a value whose key
it lacks. With --prepare the new key only opens. Give that file to all processes. Then, without --prepare, the key seals, and you give
them the file once more.

Then seal all secrets with the new key (temper keyset reseal), and take out the older ones (temper keyset retire).`,
		Example: "  temper keyset rotate /etc/temper/keyset --prepare\n  temper keyset rotate /etc/temper/keyset",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			before, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("rotate: %w", err)
			}
			add := store.AddKey
			if prepare {
				add = store.PrepareKey
			}
			after, err := add(string(before))
			if err != nil {
				return fmt.Errorf("rotate %s: %w", args[0], err)
			}
			return replace(args[0], after)
		},
	}
	c.Flags().BoolVar(&prepare, "prepare", false, "the new key only opens; the next rotate lets it seal")
	return c
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
		Long: `Seal everything in the database with the newest key. It may run beside everything else, be interrupted and run again. It tells on
standard error how far it is. Digests of requests with an idempotency key are not sealed again: they are deleted after 24 hours.`,
		Example: "  temper keyset reseal --database-url postgres://temper@db/temper --keyset-file /etc/temper/keyset",
		RunE: func(c *cobra.Command, _ []string) error {
			return withKeys(c, r, func(db *store.Store) error {
				uses, err := db.KeyUses(c.Context())
				if err != nil {
					return err
				}
				old := 0
				for _, k := range uses {
					if !k.Primary {
						old += k.Sealed
					}
				}
				n, err := db.Rotate(c.Context(), func(done int) { fmt.Fprintf(c.ErrOrStderr(), "temper: sealed %d of about %d again\n", done, old) })
				if err != nil {
					return fmt.Errorf("reseal, after %d secrets: %w", n, err)
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%d secrets are sealed with the newest key now\n", n)
				return err
			})
		},
	}
	config.Flags(c.Flags(), r)
	return c
}

func newKeysetStatusCommand() *cobra.Command {
	r := &config.Reseal{}
	c := &cobra.Command{
		Use: "status", Short: "Show the keys and how many values are sealed with each", Args: cobra.NoArgs,
		Long: `Show the keys and how many values are sealed with each, the oldest key first. "seals" is the primary key, with which everything new is
sealed. Keys that only open and have sealed nothing any more can be retired. "missing" is a key that has sealed something and is not in the
keyset: that does not open.`,
		Example: "  temper keyset status --database-url postgres://temper@db/temper --keyset-file /etc/temper/keyset",
		RunE: func(c *cobra.Command, _ []string) error {
			return withKeys(c, r, func(db *store.Store) error {
				uses, err := db.KeyUses(c.Context())
				if err != nil {
					return err
				}
				g := table.New("KEY", "USE", "SEALED VALUES")
				for _, k := range uses {
					use := "opens"
					switch {
					case k.Primary:
						use = "seals"
					case k.Missing:
						use = "missing"
					}
					g.Add(strconv.FormatInt(k.ID, 10), use, strconv.Itoa(k.Sealed))
				}
				return g.Print(c.OutOrStdout())
			})
		},
	}
	config.Flags(c.Flags(), r)
	return c
}

func newKeysetRetireCommand() *cobra.Command {
	r := &config.Reseal{}
	c := &cobra.Command{
		Use: "retire", Short: "Take the keys out of the keyset file with which nothing is sealed any more", Args: cobra.NoArgs,
		Long: `Take the keys out of the keyset file with which nothing is sealed any more. The primary key stays, and so does one that was prepared to be
the next. Run it some minutes after all processes have the newest file: one that still has an older file seals with an older key.`,
		Example: "  temper keyset retire --database-url postgres://temper@db/temper --keyset-file /etc/temper/keyset",
		RunE: func(c *cobra.Command, _ []string) error {
			return withKeys(c, r, func(db *store.Store) error {
				if r.KeysetFile == "" {
					return errors.New("retire: it changes a file, so name that in keyset_file")
				}
				uses, err := db.KeyUses(c.Context())
				if err != nil {
					return err
				}
				before, err := os.ReadFile(r.KeysetFile)
				if err != nil {
					return fmt.Errorf("retire: %w", err)
				}
				after, retired, err := store.RetireKeys(string(before), uses)
				if err != nil {
					return fmt.Errorf("retire: %w", err)
				}
				if len(retired) > 0 {
					if err := replace(r.KeysetFile, after); err != nil {
						return fmt.Errorf("retire: %w", err)
					}
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%d keys were taken out\n", len(retired))
				return err
			})
		},
	}
	config.Flags(c.Flags(), r)
	return c
}

// withKeys calls do with the database and the keys that the settings name.
func withKeys(c *cobra.Command, r *config.Reseal, do func(*store.Store) error) error {
	if _, err := config.Load(r, c.Flags(), os.Environ()); err != nil {
		return fmt.Errorf("keyset: settings:\n%w", err)
	}
	keys, err := readKeyset(r.Database)
	if err != nil {
		return err
	}
	db, err := store.Open(c.Context(), store.Config{URL: r.URL, Keyset: keys, ApplicationName: "temper keyset"})
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}
