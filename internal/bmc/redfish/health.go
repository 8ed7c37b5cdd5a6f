package redfish

import (
	"context"
	"strings"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// maxHealthChassis is how many chassis of a system, and how many of its managers, are read for its health. A server has
// one of each; a tray with accelerators has dozens of chassis, of which the first contain the others.
const maxHealthChassis = 8

// Health reads the system, its managers, and the sensors of its chassis. The members of its collections (processors,
// memory, drives) are read only if the system does not say that they are all right, because they are many requests.
func (s *session) Health(ctx context.Context) (bmc.Health, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	h := bmc.Health{Status: node.HealthUnknown}
	if err := s.health(ctx, &h); err != nil {
		return bmc.Health{}, s.wrap("read the health", err)
	}
	h.Reasons = node.WorstFirst(h.Reasons)
	for i := range h.Reasons {
		r := &h.Reasons[i]
		r.Name, r.Message = s.endpoint.redact(r.Name), s.endpoint.redact(r.Message)
	}
	return h, nil
}

// healthStatus is a Status with what is about health.
type healthStatus struct {
	State        looseString
	Health       looseString
	HealthRollup looseString
	Conditions   looseList[struct {
		Message  looseString
		Severity looseString
	}]
}

// absent reports whether the resource is an empty socket, slot or bay, whose health says nothing.
func (s healthStatus) absent() bool { return status{State: s.State}.absent() }

// own returns the health of the resource itself.
func (s healthStatus) own() node.HealthStatus { return healthOf(s.Health) }

// whole returns the health of the resource with its parts.
func (s healthStatus) whole() node.HealthStatus {
	own, all := s.own(), healthOf(s.HealthRollup)
	if own.WorseThan(all) {
		return own
	}
	return all
}

// message returns the first condition of the severity in the BMC's words, else a sentence of ours.
func (s healthStatus) message(of node.HealthStatus) string {
	for _, c := range s.Conditions {
		if words := c.Message.stored(); words != "" && healthOf(c.Severity) == of {
			return words
		}
	}
	if state := s.State.stored(); state != "" && state != "Enabled" {
		return "the BMC says that its health is " + string(of) + " and its state " + state
	}
	return "the BMC says that its health is " + string(of)
}

func healthOf(s looseString) node.HealthStatus {
	switch strings.ToLower(string(s)) {
	case "ok":
		return node.HealthOK
	case "warning":
		return node.HealthWarning
	case "critical":
		return node.HealthCritical
	}
	return node.HealthUnknown
}

// healthyPart is a resource of which only the health is read.
type healthyPart struct {
	ID     looseString `json:"Id"`
	Name   looseString
	Status loose[healthStatus]
}

func (p healthyPart) name() string { return firstNonBlank(p.Name.stored(), p.ID.stored()) }

type healthySystem struct {
	Status           loose[healthStatus]
	ProcessorSummary loose[struct{ Status loose[healthStatus] }]
	MemorySummary    loose[struct{ Status loose[healthStatus] }]

	Processors, Memory, Storage, EthernetInterfaces link

	Links loose[struct{ Chassis, ManagedBy links }]
}

func (s *session) health(ctx context.Context, h *bmc.Health) error {
	path, err := s.systemPath(ctx)
	if err != nil {
		return err
	}
	var sys healthySystem
	if _, err := s.read(ctx, path, &sys); err != nil {
		return err
	}
	summaries := map[node.ComponentKind]node.HealthStatus{
		node.ComponentProcessor: sys.ProcessorSummary.v.Status.v.whole(), node.ComponentMemory: sys.MemorySummary.v.Status.v.whole(),
	}
	for kind, status := range summaries {
		if status == node.HealthOK {
			h.Tell(kind, "", status, "")
		}
	}
	if err := s.chassisHealth(ctx, sys.Links.v.Chassis, h); err != nil {
		return err
	}
	managed := sys.Links.v.ManagedBy
	if err := eachOf(ctx, s, managed[:min(len(managed), maxHealthChassis)], func(p healthyPart) {
		tell(h, node.ComponentManager, p.name(), p.Status.v, p.Status.v.whole())
	}); err != nil {
		return err
	}
	whole := sys.Status.v.whole()
	if whole != node.HealthOK {
		if err := s.memberHealth(ctx, sys, h); err != nil {
			return err
		}
		for kind, status := range summaries {
			if status.WorseThan(h.Parts[kind]) {
				h.Tell(kind, "", status, "the BMC says that one of them is "+string(status)+", and not which")
			}
		}
	}
	if !whole.WorseThan(h.Status) { // a part tells why
		h.Parts = withPart(h.Parts, node.ComponentSystem, whole)
		return nil
	}
	tell(h, node.ComponentSystem, "", sys.Status.v, whole)
	return nil
}

func withPart(parts map[node.ComponentKind]node.HealthStatus, kind node.ComponentKind, s node.HealthStatus) map[node.ComponentKind]node.HealthStatus {
	if parts == nil {
		parts = map[node.ComponentKind]node.HealthStatus{}
	}
	if s != node.HealthUnknown {
		parts[kind] = s
	}
	return parts
}

// tell adds a resource, unless it is absent or says nothing of its health.
func tell(h *bmc.Health, kind node.ComponentKind, name string, s healthStatus, is node.HealthStatus) {
	if !s.absent() && is != node.HealthUnknown {
		h.Tell(kind, name, is, s.message(is))
	}
}

// memberHealth reads the members of the system's collections.
func (s *session) memberHealth(ctx context.Context, sys healthySystem, h *bmc.Health) error {
	of := func(kind node.ComponentKind) func(healthyPart) {
		return func(p healthyPart) { tell(h, kind, p.name(), p.Status.v, p.Status.v.whole()) }
	}
	if err := each(ctx, s, sys.Processors, of(node.ComponentProcessor)); err != nil {
		return err
	}
	if err := each(ctx, s, sys.Memory, of(node.ComponentMemory)); err != nil {
		return err
	}
	var drives, controllers []string
	if err := each(ctx, s, sys.Storage, func(st struct {
		healthyPart
		Drives             links
		StorageControllers looseList[healthyPart]
		Controllers        link
	},
	) {
		drives = append(drives, st.Drives[:min(len(st.Drives), maxMembers-len(drives))]...)
		for _, c := range st.StorageControllers {
			of(node.ComponentStorage)(c)
		}
		if st.Controllers != "" && len(controllers) < maxMembers {
			controllers = append(controllers, string(st.Controllers))
		}
		tell(h, node.ComponentStorage, st.name(), st.Status.v, st.Status.v.own())
	}); err != nil {
		return err
	}
	for _, c := range controllers {
		if err := each(ctx, s, link(c), of(node.ComponentStorage)); err != nil {
			return err
		}
	}
	if err := eachOf(ctx, s, drives, of(node.ComponentStorage)); err != nil {
		return err
	}
	return each(ctx, s, sys.EthernetInterfaces, of(node.ComponentNetwork))
}
