package events

import (
	"slices"
	"strings"
)

// Types are the types of events. docs/events.md says when there is one of each. Those that begin with baremetal are Ironic's
// notifications.
var Types = []string{
	"baremetal.node.create.end",
	"baremetal.node.update.end",
	"baremetal.node.delete.end",
	"baremetal.node.provision_set.start",
	"baremetal.node.provision_set.end",
	"baremetal.node.provision_set.success",
	"baremetal.node.provision_set.error",
	"baremetal.node.power_set.start",
	"baremetal.node.power_set.end",
	"baremetal.node.power_set.error",
	"baremetal.node.power_state_corrected.success",
	"baremetal.node.maintenance_set.end",
	"baremetal.node.console_set.end",
	"baremetal.port.create.end",
	"baremetal.port.update.end",
	"baremetal.port.delete.end",
	"baremetal.portgroup.create.end",
	"baremetal.portgroup.update.end",
	"baremetal.portgroup.delete.end",
	"baremetal.chassis.create.end",
	"baremetal.chassis.update.end",
	"baremetal.chassis.delete.end",
	"baremetal.volumeconnector.create.end",
	"baremetal.volumeconnector.update.end",
	"baremetal.volumeconnector.delete.end",
	"baremetal.volumetarget.create.end",
	"baremetal.volumetarget.update.end",
	"baremetal.volumetarget.delete.end",
	"baremetal.deploy_template.create.end",
	"baremetal.deploy_template.update.end",
	"baremetal.deploy_template.delete.end",
	"baremetal.runbook.create.end",
	"baremetal.runbook.update.end",
	"baremetal.runbook.delete.end",
	"baremetal.allocation.create.end",
	"baremetal.allocation.create.error",
	"baremetal.allocation.update.end",
	"baremetal.allocation.delete.end",
	"node.health_changed",
	"node.quarantined",
	"node.released",
	"node.hardware_changed",
	"operation.accepted",
	"operation.begun",
	"operation.waiting",
	"operation.running",
	"operation.holding",
	"operation.undoing",
	"operation.paused",
	"operation.unpaused",
	"operation.handed_over",
	"operation.asked",
	"operation.decided",
	"operation.ended",
	"step.begun",
	"step.failed",
	"step.ended",
	TemporalChanged,
}

// TemporalChanged is the type of the events that say what an orchestrator has changed in Temporal.
const TemporalChanged = "temporal.changed"

// IsType reports whether a filter's type is that of an event, or the beginning of one up to a dot.
func IsType(wanted string) bool {
	return slices.ContainsFunc(Types, func(t string) bool { return isOf(t, wanted) })
}

// isOf reports whether an event of the type t is of the wanted type. The same rule in SQL is in eventsSQL of package store.
func isOf(t, wanted string) bool { return t == wanted || strings.HasPrefix(t, wanted+".") }
