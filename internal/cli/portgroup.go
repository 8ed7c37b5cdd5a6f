package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

var portgroupKind = recordKind{
	use: "port-group", noun: "port group", many: "port groups", in: client.Portgroups, ofNode: true,
	columns: []recordColumn{{"UUID", "uuid"}, {"NAME", "name"}, {"ADDRESS", "address"}, {"MODE", "mode"}, {"NODE", "node_uuid"}},
	filters: []field{{flag: "address", name: "address", help: "only the port group with this `MAC` address"}},
	fields: []field{
		{flag: "name", name: "name", help: "`name`"},
		{flag: "address", name: "address", help: "`MAC` address"},
		{flag: "mode", name: "mode", help: "`mode` of the bond, such as 802.3ad; active-backup if none is given"},
		{flag: "property", name: "properties", dict: true, help: "properties of the bond, such as miimon=100; @FILE: an object"},
		{flag: "standalone-ports", name: "standalone_ports_supported", boolean: true, help: "whether its ports can be used one by one, too"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	create: "--node n1 --name bond0 --mode 802.3ad", set: "bond0 --property miimon=100", one: "bond0",
}

func newPortgroupCommand() *cobra.Command {
	return newGroup(portgroupKind.use, "Show and change port groups: ports of a node that are used as one", "  temper port-group list --node n1", portgroupKind.commands)
}
