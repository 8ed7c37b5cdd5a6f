package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newNodeClean(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "clean NODE...", Short: "Run the clean steps that you choose on manageable nodes",
		Example: `  temper node clean n1 --clean-steps '[{"interface": "deploy", "step": "erase_devices_metadata"}]' --watch
  temper node clean n1 --runbook bios-reset --watch`,
	}
	return verb{name: "clean", target: "clean", event: node.EventClean, what: "clean"}.withSteps(s, c, "clean-steps")
}

func newNodeService(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "service NODE...", Short: "Run the service steps that you choose on active nodes, whose data stays",
		Long: "Run the service steps that you choose on active nodes, whose data stays. Most steps restart the server. The agent is booted only if a step needs it.",
		Example: `  temper node service n1 --service-steps '[{"interface": "bios", "step": "factory_reset"}]' --watch
  temper node service n1 --runbook bios-reset --watch`,
	}
	return verb{name: "service", target: "service", event: node.EventService, what: "service (their servers may restart)"}.withSteps(s, c, "service-steps")
}

// withSteps makes c a command that takes steps from the flag, or from a runbook.
func (v verb) withSteps(s *session, c *cobra.Command, flag string) *cobra.Command {
	var steps, runbook string
	var terms client.Terms
	var noRamdisk bool
	c.Flags().StringVar(&steps, flag, "", "`FILE|JSON`: a list of steps")
	c.Flags().StringVar(&runbook, "runbook", "", "run the steps of this `runbook`, which is approved for nodes that have one of its traits")
	c.Flags().BoolVar(&noRamdisk, "disable-ramdisk", false, "do not boot the agent; for steps that do not need it")
	c.MarkFlagsOneRequired(flag, "runbook")
	c.MarkFlagsMutuallyExclusive(flag, "runbook")
	must(c.RegisterFlagCompletionFunc("runbook", runbookKind.complete(s, 0)))
	addTerms(c, &terms)
	return v.command(s, c, func() (client.Work, error) {
		list, err := readSteps(flag, steps)
		if err == nil && runbook == "" && len(list) == 0 {
			err = exit.Usage(fmt.Errorf("--%s is empty", flag))
		}
		if err != nil {
			return client.Work{}, err
		}
		return client.Work{Verb: v.target, Steps: list, Runbook: runbook, NoRamdisk: noRamdisk, Terms: terms}, nil
	})
}
