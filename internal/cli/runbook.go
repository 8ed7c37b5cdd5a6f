package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

const aRunbookStep = `'[{"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}]'`

var runbookKind = recordKind{
	use: "runbook", noun: "runbook", many: "runbooks", in: client.Runbooks,
	columns: []recordColumn{{"UUID", "uuid"}, {"NAME", "name"}, {"TRAITS", "traits"}, {"STEPS", "steps"}, {"OWNER", "owner"}},
	fields: []field{
		{flag: "name", name: "name", help: "`name`"},
		{flag: "description", name: "description", help: "`text` for people"},
		{flag: "steps", name: "steps", steps: true, help: "`FILE|JSON`: a list of steps with interface, step, args and order"},
		{flag: "disable-ramdisk", name: "disable_ramdisk", boolean: true, help: "do not boot the agent; for steps that do not need it"},
		{flag: "public", name: "public", boolean: true, help: "every project may use it"},
		{flag: "owner", name: "owner", help: "`project` whose it is"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	created: []field{{flag: "traits", name: "traits", list: true, help: "it is approved for nodes that have one of these `traits`; see temper runbook trait"}},
	require: []string{"name", "steps"},
	create:  "--name bios-reset --traits CUSTOM_GEN10 --steps " + aRunbookStep, set: "bios-reset --public", one: "bios-reset",
}

func newRunbookCommand() *cobra.Command {
	return newGroup(runbookKind.use, "Show and change runbooks: steps that are approved for nodes with a trait", "  temper runbook list", func(s *session) []*cobra.Command {
		traits := traited{client.Runbooks, "runbook", "bios-reset", runbookKind.complete(s, 1)}
		return append(runbookKind.commands(s), traits.command(s))
	})
}
