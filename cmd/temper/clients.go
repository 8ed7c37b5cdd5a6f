package main

import "github.com/spf13/cobra"

// clientCommands are the commands that ask the API. Those about conductors are below the role (conductors.go).
func clientCommands() []*cobra.Command {
	return []*cobra.Command{newNodeCommand(), newPortCommand(), newAllocationCommand(), newDriverCommand(), newOperationCommand(), newRingCommand()}
}

// group is a command that only holds others, all over the API and with its flags.
func group(use, short, example string, make func(*asker) []*cobra.Command) *cobra.Command {
	a := newAsker()
	c := holder(use, short, example)
	a.addFlags(c, c.PersistentFlags())
	c.AddCommand(make(a)...)
	return c
}

// holder is a command that only holds others. It runs, to help: one that can't would take any word for its own.
func holder(use, short, example string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: noWord,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}
