package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

var volumeConnectorKind = recordKind{
	use: "connector", of: "volume", noun: "volume connector", many: "volume connectors", in: client.VolumeConnectors, ofNode: true,
	columns: []recordColumn{{"UUID", "uuid"}, {"TYPE", "type"}, {"CONNECTOR ID", "connector_id"}, {"NODE", "node_uuid"}},
	fields: []field{
		{flag: "type", name: "type", help: "`type` of the id: iqn, ip, mac, wwnn, wwpn, port or portgroup"},
		{flag: "connector-id", name: "connector_id", help: "`id` by which the storage system knows the node"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	require: []string{"type", "connector-id"},
	create:  "--node n1 --type iqn --connector-id iqn.2017-07.org.example:n1",
	one:     "4b0d54a5-4e2e-4f35-8f6e-1c3a5e3b8a10", set: "4b0d54a5-4e2e-4f35-8f6e-1c3a5e3b8a10 --connector-id iqn.2017-07.org.example:n2",
}

var volumeTargetKind = recordKind{
	use: "target", of: "volume", noun: "volume target", many: "volume targets", in: client.VolumeTargets, ofNode: true,
	columns: []recordColumn{{"UUID", "uuid"}, {"TYPE", "volume_type"}, {"BOOT INDEX", "boot_index"}, {"VOLUME", "volume_id"}, {"NODE", "node_uuid"}},
	fields: []field{
		{flag: "type", name: "volume_type", help: "`type` of the volume, such as iscsi or fibre_channel"},
		{flag: "volume-id", name: "volume_id", help: "`id` of the volume in the storage system"},
		{flag: "boot-index", name: "boot_index", number: true, help: "`place` among the node's volumes; it boots from 0"},
		{flag: "property", name: "properties", dict: true, help: "properties of the connection; a password that is - is asked for; @FILE: an object"},
		{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	},
	require: []string{"type", "volume-id", "boot-index"},
	create:  "--node n1 --type iscsi --volume-id 7211f7d3-3f32-4efc-b64e-9b8e92e64a8e --boot-index 0",
	one:     "4b0d54a5-4e2e-4f35-8f6e-1c3a5e3b8a10", set: "4b0d54a5-4e2e-4f35-8f6e-1c3a5e3b8a10 --boot-index 1",
}

func newVolumeCommand() *cobra.Command {
	c := newParent("volume", "Show and change volume connectors and targets of nodes", "  temper volume target list --node n1")
	c.AddCommand(
		newGroup(volumeConnectorKind.use, "What nodes are known by to storage systems", "  temper volume connector list --node n1", volumeConnectorKind.commands),
		newGroup(volumeTargetKind.use, "The volumes that nodes have", "  temper volume target list --node n1", volumeTargetKind.commands),
	)
	return c
}
