package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

// must is for what only a mistake in this program makes fail, at its start.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// newGroup is a command that only holds others, all over the API and with its flags.
func newGroup(use, short, example string, make func(*session) []*cobra.Command) *cobra.Command {
	s := newSession()
	c := newParent(use, short, example)
	s.addFlags(c, c.PersistentFlags())
	c.AddCommand(make(s)...)
	return c
}

// newParent is a command that only holds others. It runs, to help: one that can't would take any word for its own.
func newParent(use, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: OnlySubcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}

// nonEmpty is a query of those that have a value.
func nonEmpty(q map[string]string) url.Values {
	out := url.Values{}
	for name, v := range q {
		if v != "" {
			out.Set(name, v)
		}
	}
	return out
}
