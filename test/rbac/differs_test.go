package rbac

import "maps"

// difference is a case that Temper answers in another way, and why.
type difference struct {
	what verdict
	why  string
}

// The reasons. docs/security.md has them, too.
const (
	tellsNothing = "Ironic answers 403, and so tells that the node exists. Temper answers as for a node that does not exist."
	noSettings   = "The node has no BIOS settings: no driver of Temper reads any."
	noIndicators = "Temper has no route for one indicator: no driver has any."
)

// differs has all of them.
var differs = func() map[string]difference {
	out := map[string]difference{}
	add := func(what verdict, why string, names ...string) {
		for _, name := range names {
			maps.Copy(out, map[string]difference{name: {what, why}})
		}
	}
	add(hidden, tellsNothing,
		"volume_targets_post_service_project_disabled", "volume_targets_post_service_project_admin", "third_party_admin_cannot_add_portgroup",
		"owner_admin_cannot_add_ports_to_other_nodes", "owner_manager_cannot_add_ports_to_other_nodes", "owner_service_cannot_add_ports_to_other_nodes",
		"third_party_admin_cannot_add_port", "service_cannot_add_ports_to_other_project", "lessee_admin_cannot_post_volume_connector",
		"lessee_manager_cannot_post_volume_connector", "third_party_admin_cannot_post_volume_connector", "service_admin_cannot_post_volume_connector",
		"third_party_admin_cannot_create_volume_target")
	add(hidden, noSettings, "nodes_bios_bios_setting_get_admin", "nodes_bios_bios_setting_get_member", "nodes_bios_bios_setting_get_reader")
	add(hidden, noIndicators, "lessee_member_cannot_set_indicator", "owner_member_can_set_indicator")
	return out
}()
