package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

const aTemplateStep = `'[{"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "LogicalProc", "value": "Enabled"}]}, "priority": 150}]'`

var deployTemplateKind = recordKind{
	use: "deploy-template", noun: "deploy template", many: "deploy templates", in: client.DeployTemplates,
	columns: []recordColumn{{"UUID", "uuid"}, {"NAME", "name"}, {"STEPS", "steps"}},
	fields: []field{
		{flag: "name", name: "name", help: "`trait` for which the steps run"},
		{flag: "steps", name: "steps", steps: true, help: "`FILE|JSON`: a list of steps with interface, step, args and priority"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	require: []string{"name", "steps"},
	create:  "--name CUSTOM_HYPERTHREADING --steps " + aTemplateStep, set: "CUSTOM_HYPERTHREADING --steps " + aTemplateStep, one: "CUSTOM_HYPERTHREADING",
}

func newDeployTemplateCommand() *cobra.Command {
	return newGroup(deployTemplateKind.use, "Show and change deploy templates: deploy steps for nodes whose instance asks for a trait",
		"  temper deploy-template list", deployTemplateKind.commands)
}
