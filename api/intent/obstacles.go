package intent

import (
	"fmt"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Obstacles returns everything that is in the way of p on n, where Decide returns the first thing. It reads
// only its arguments.
func (s *Service) Obstacles(p *Provision, n *node.Node, fl *Fleet) []error {
	all := admission.Obstacles(n, p.Verb, fl.Reservation(n))
	add := func(err error) {
		if err != nil {
			all = append(all, err)
		}
	}
	add(p.check())
	if p.Verb.Kind == "" { // it opens no operation, so it needs no conductor
		return all
	}
	add(fl.RequireCovered(n))
	after, _, err := p.Applied(n)
	if err != nil {
		return append(all, err)
	}
	add(p.approved(n))
	misfits := s.misfits(after, p.Verb.Kind, p.withoutRamdisk())
	all = append(all, misfits...)
	asked, err := p.steps(p.Verb.Kind)
	if err == nil && len(misfits) == 0 {
		_, err = s.plan(after, p.Verb.Kind, asked, p)
	}
	add(err)
	return all
}

// PowerObstacles is Obstacles for a power request.
func (s *Service) PowerObstacles(n *node.Node, fl *Fleet, target node.PowerState) (all []error) {
	_, admitted := admission.Power(n, target, fl.Reservation(n))
	for _, err := range []error{admitted, fl.RequireCovered(n), s.Drivers.Validate(n.Driver, n.DriverInfo)} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// misfits returns what of the interfaces that an operation of kind k needs is not valid, and which
// traits the node lacks.
func (s *Service) misfits(n *node.Node, k node.OperationKind, noAgent bool) (all []error) {
	spec := k.Spec()
	for _, i := range interfacesOf(spec, noAgent) {
		err := s.ValidateInterface(n, i)
		if err != nil {
			all = append(all, misfit(n, spec, err))
		}
		if i == "deploy" {
			if lacks := validateInstanceTraits(n); lacks != nil && (err == nil || fault.Text(lacks) != fault.Text(err)) {
				all = append(all, misfit(n, spec, lacks))
			}
		}
	}
	return all
}

// Notes are what somebody should know of p on n although it refuses nothing.
func (s *Service) Notes(r *node.Request, n *node.Node) (out []string) {
	if len(n.Owed) > 0 && r != nil && r.Open != nil {
		what := "stays to be undone after it"
		if (&node.Operation{Kind: r.Open.Kind, Steps: r.Open.Steps}).UndoesAll() {
			what = "is undone by its own steps"
		}
		out = append(out, fmt.Sprintf("what earlier work left (%s) %s", node.UndoList(n.Owed), what))
	}
	return out
}
