package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

// must panics on errors that only a mistake in this program can cause, when the commands are made.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// newGroup returns a command that only has subcommands, all over the API and with the flags of a session.
func newGroup(use, short, example string, make func(*session) []*cobra.Command) *cobra.Command {
	s := newSession()
	c := newParent(use, short, example)
	s.addFlags(c, c.PersistentFlags())
	c.AddCommand(make(s)...)
	return c
}

// newParent returns a command that only has subcommands. It has a RunE, which shows its help, because cobra would accept any
// argument of a command that can't run.
func newParent(use, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: OnlySubcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}

// nonEmpty returns a query of the parameters that have a value.
func nonEmpty(q map[string]string) url.Values {
	out := url.Values{}
	for name, v := range q {
		if v != "" {
			out.Set(name, v)
		}
	}
	return out
}
