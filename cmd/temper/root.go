package main

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/buildinfo"
	"go.temper.dev/temper/internal/cli"
)

// The IDs of the groups of commands that --help has besides those over the API.
const (
	groupRole = "role"
	groupTool = "tool"
)

func newRootCommand() *cobra.Command {
	root := cli.New(askBMC,
		cli.Group{ID: groupRole, Title: "Roles:", Commands: append([]*cobra.Command{
			newAPICommand(), newBootCommand(), newOrchestratorCommand(), newConductorCommand(), newComputeCommand(), newRackCommand(), newDevCommand(),
		}, agentCommands()...)},
		cli.Group{ID: groupTool, Title: "Tools:", Commands: []*cobra.Command{
			newBMCCommand(), newMigrateCommand(), newKeysetCommand(), newHealthcheckCommand(), newVersionCommand(),
		}},
	)
	root.Version = buildinfo.Line()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetCompletionCommandGroupID(groupTool)
	root.SetHelpCommandGroupID(groupTool)
	return root
}
