package main

import "github.com/spf13/cobra"

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
			newAPICommand(), newOrchestratorCommand(), newConductorCommand(), newRackCommand(), newDevCommand(),
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
		Args:          cobra.NoArgs,
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
	root.SetCompletionCommandGroupID(groupTool)
	root.SetHelpCommandGroupID(groupTool)
	return root
}

// showHelp is what a command does that has only subcommands; with it a word that is none of them is an error.
func showHelp(c *cobra.Command, _ []string) error { return c.Help() }
