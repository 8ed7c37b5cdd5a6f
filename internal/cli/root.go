package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
)

// groupClient is the ID of the group of commands over the API.
const groupClient = "client"

// Group is a group of commands with a title of its own in --help.
type Group struct {
	ID, Title string
	Commands  []*cobra.Command
}

// New returns the command temper: the commands over the API, and then the other groups. ask asks the BMCs of nodes that are about to be
// enrolled.
func New(ask AskBMC, others ...Group) *cobra.Command {
	root := &cobra.Command{
		Use:           "temper",
		Short:         "Provision bare metal: Ironic's API on durable operations",
		SilenceUsage:  true,
		SilenceErrors: true, // main prints them
		Args:          OnlySubcommands,
		RunE:          ShowHelp,
	}
	for _, g := range append([]Group{{groupClient, "Commands over the API:", clientCommands(ask)}}, others...) {
		root.AddGroup(&cobra.Group{ID: g.ID, Title: g.Title})
		for _, c := range g.Commands {
			c.GroupID = g.ID
			root.AddCommand(c)
		}
	}
	root.SetFlagErrorFunc(flagError)
	checkUsage(root)
	return root
}

// clientCommands returns the commands over the API. Those about conductors and compute services are subcommands of the
// roles of these names (ConductorCommands, ComputeCommands).
func clientCommands(ask AskBMC) []*cobra.Command {
	return []*cobra.Command{newNodeCommand(ask), newChassisCommand(), newPortCommand(), newPortgroupCommand(), newVolumeCommand(), newDeployTemplateCommand(), newRunbookCommand(), newAllocationCommand(), newDriverCommand(), newDiscoveryCommand(), newOperationCommand(), newRingCommand(), newStatusCommand(), newWhyCommand(), newEventsCommand(), newWebhookCommand(), newAuditCommand(), newTokenCommand()}
}

// checkUsage makes wrong arguments of a command, and of those below it, errors of usage.
func checkUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error { return exit.Usage(check(c, args)) }
	}
	for _, sub := range c.Commands() {
		checkUsage(sub)
	}
}

// fewSubcommands is how many subcommands an error names at most.
const fewSubcommands = 8

func subcommands(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// OnlySubcommands refuses a word that is no subcommand, and says which one may be meant.
func OnlySubcommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2 // letters that are wrong
	hint := ""
	if meant := c.SuggestionsFor(args[0]); len(meant) > 0 {
		hint = "; did you mean " + strings.Join(meant, " or ") + "?"
	} else if all := subcommands(c); len(all) <= fewSubcommands {
		hint = "; its commands are " + strings.Join(all, ", ")
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), hint)
}

// ShowHelp is what a command does that has only subcommands; with it a word that is none of them is an error.
func ShowHelp(c *cobra.Command, _ []string) error { return c.Help() }
