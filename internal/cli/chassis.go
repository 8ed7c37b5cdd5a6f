package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

const aChassis = "4b0d54a5-4e2e-4f35-8f6e-1c3a5e3b8a10"

var chassisKind = recordKind{
	use: "chassis", noun: "chassis", many: "chassis", in: client.Chassis,
	columns: []recordColumn{{"UUID", "uuid"}, {"DESCRIPTION", "description"}},
	fields: []field{
		{flag: "description", name: "description", help: "`text` for people"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	create: "--description 'rack 7, unit 12'", set: aChassis + " --description 'rack 8'", one: aChassis,
}

func newChassisCommand() *cobra.Command {
	return newGroup(chassisKind.use, "Show and change chassis: enclosures of several nodes", "  temper chassis list", chassisKind.commands)
}
