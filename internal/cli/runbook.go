package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

const aRunbookStep = `'[{"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}]'`

var runbookKind = recordKind{
	use: "runbook", noun: "runbook", many: "runbooks", in: client.Runbooks,
	columns: []recordColumn{{"UUID", "uuid"}, {"NAME", "name"}, {"STEPS", "steps"}, {"OWNER", "owner"}},
	fields: []field{
		{flag: "name", name: "name", help: "`trait` of the nodes for which it is approved"},
		{flag: "steps", name: "steps", steps: true, help: "`FILE|JSON`: a list of steps with interface, step, args and order"},
		{flag: "disable-ramdisk", name: "disable_ramdisk", boolean: true, help: "do not boot the agent; for steps that do not need it"},
		{flag: "public", name: "public", boolean: true, help: "every project may use it"},
		{flag: "owner", name: "owner", help: "`project` whose it is"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	require: []string{"name", "steps"},
	create:  "--name CUSTOM_BIOS_RESET --steps " + aRunbookStep, set: "CUSTOM_BIOS_RESET --public", one: "CUSTOM_BIOS_RESET",
}

func newRunbookCommand() *cobra.Command {
	return newGroup(runbookKind.use, "Show and change runbooks: steps that are approved for nodes with a trait", "  temper runbook list", runbookKind.commands)
}
