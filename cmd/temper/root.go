package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The groups of commands in --help.
const (
	groupClient = "client"
	groupRole   = "role"
	groupTool   = "tool"
)

// commands are all subcommands by their group; each is a file of its own.
func commands() map[string][]*cobra.Command {
	return map[string][]*cobra.Command{
		groupClient: clientCommands(),
		groupRole: {
			newAPICommand(), newOrchestratorCommand(), newConductorCommand(), newComputeCommand(), newRackCommand(), newDevCommand(),
		},
		groupTool: {
			newMigrateCommand(), newKeysetCommand(), newHealthcheckCommand(), newVersionCommand(),
		},
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "temper",
		Short:         "Provision bare metal: Ironic's API on durable operations",
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
		Args:          noWord,
		RunE:          showHelp,
	}
	root.AddGroup(
		&cobra.Group{ID: groupClient, Title: "Commands, over the API:"},
		&cobra.Group{ID: groupRole, Title: "Roles:"},
		&cobra.Group{ID: groupTool, Title: "Tools:"},
	)
	for group, list := range commands() {
		for _, c := range list {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	checkUsage(root)
	root.SetCompletionCommandGroupID(groupTool)
	root.SetHelpCommandGroupID(groupTool)
	return root
}

// checkUsage makes wrong arguments of all commands errors of usage.
func checkUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error { return usage(check(c, args)) }
	}
	for _, sub := range c.Commands() {
		checkUsage(sub)
	}
}

// noWord refuses a word that is no subcommand, and says which one may be meant.
func noWord(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2 // letters that are wrong
	hint := ""
	if meant := c.SuggestionsFor(args[0]); len(meant) > 0 {
		hint = "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), hint)
}

// showHelp is what a command does that has only subcommands; with it a word that is none of them is an error.
func showHelp(c *cobra.Command, _ []string) error { return c.Help() }
