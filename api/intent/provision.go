package intent

import (
	"encoding/json"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/secret"
)

// Applied returns a copy of n with the instance_info of the request, and the secrets in
// it. Keys that the request does not have stay as they are; null removes a key.
func (p *Provision) Applied(n *node.Node) (*node.Node, node.Secrets, error) {
	after := *n
	if p.Info == nil {
		return &after, node.Secrets{}, nil
	}
	after.InstanceInfo = format.Copied(n.InstanceInfo)
	for key, v := range p.Info {
		if after.InstanceInfo[key] = v; v == nil {
			delete(after.InstanceInfo, key)
		}
	}
	after.NameInstance(n)
	secrets, err := MaskNode(n, &after)
	if err != nil {
		return nil, nil, err
	}
	return &after, secrets, secret.CheckDestinations(secret.Destinations(n), &after, secrets)
}

// Provision is a request for a verb of the life cycle, read before the node is.
type Provision struct {
	*format.Object
	Verb           node.Verb
	User           string
	Minor          int
	DisableRamdisk *bool
	OnFailure      node.OnFailure
	Info           map[string]any        // changes of instance_info; nil = none
	RescueKeys     string                // public keys that may log in to a rescue, a line each
	RescueHash     string                // RescueHash of the password; "" = none was given
	Templates      []node.DeployTemplate // those that traits of the node name, in the clear (ReadTemplates)
	Drive          any                   // the config drive as it was given; nil = none
	DriveErr       error
	Runbook        *node.Runbook // that the request names, in the clear (ReadRunbook); nil = it names none
	RunbookErr     error         // why the runbook that it names can't be used
}

// Decide returns what p changes, or why it is refused. It checks in Ironic's order:
// version, maintenance and life cycle, parameters, conductor, interfaces and steps.
func (s *Service) Decide(p *Provision, n *node.Node, fl *Fleet) (*node.Request, error) {
	if p.Verb.Minor > p.Minor {
		return nil, fault.New(fault.NotAcceptable, "Request not acceptable.")
	}
	if orphaned := fl.Orphaned(n); orphaned || n.Operation != nil && n.Operation.Blocked == node.BlockedDeaths {
		if r, err := s.end(p, n, orphaned); r != nil || err != nil {
			return r, err
		}
	}
	d, err := admission.Verb(n, p.Verb, fl.Reservation(n))
	if err != nil {
		return nil, err
	}
	if p.Verb.MinorIn(n.ProvisionState) > p.Minor {
		return nil, fault.New(fault.NotAcceptable, "Request not acceptable.")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &node.Request{Move: d.Move, Apply: d.Apply}
	switch {
	case d.Steer != "":
		r.Steer = &node.Steer{Ask: d.Steer, By: p.User, Reason: p.Verb.Target}
		if d.Steer == node.AskDelete {
			r.Steer.OnFailure = p.OnFailure
		}
		return r, nil
	case d.Open == "":
		return r, nil
	}
	return r, s.open(p, n, fl, d, r)
}

// sealSteps returns the steps with their secret arguments masked, and adds these to secrets.
func sealSteps(n *node.Node, k node.OperationKind, steps []node.Step, secrets node.Secrets) []node.Step {
	masked, hidden := secret.MaskArgs(n, k, steps)
	for path, v := range hidden {
		secrets["steps/"+path] = v
	}
	return masked
}

// open fills r with the operation that d opens.
func (s *Service) open(p *Provision, n *node.Node, fl *Fleet, d admission.Effect, r *node.Request) error {
	if err := fl.RequireCovered(n); err != nil {
		return err
	}
	if err := p.approved(n); err != nil {
		return err
	}
	asked, err := p.steps(d.Open)
	if err != nil {
		return err
	}
	after, secrets, err := p.Applied(n)
	if err != nil {
		return err
	}
	steps, err := s.plan(after, d.Open, asked, p)
	if err != nil {
		return err
	}
	r.Secrets = secrets
	r.Open = &node.Operation{
		Kind: d.Open, Target: d.Target, Steps: sealSteps(after, d.Open, steps, secrets), RequestedBy: p.User, OnFailure: p.OnFailure,
	}
	if p.Info != nil {
		edit := r.Apply
		r.Apply = func(n *node.Node) {
			edit(n)
			n.InstanceInfo, n.InstanceName = after.InstanceInfo, after.InstanceName
		}
	}
	if d.Open.Spec().Leases && s.AutomaticLessee {
		edit := r.Apply
		r.Apply = func(n *node.Node) {
			edit(n)
			node.LeaseToInstance(n)
		}
	}
	if p.Drive != nil {
		r.Secrets["instance_info/configdrive"] = p.Drive
		edit := r.Apply
		r.Apply = func(n *node.Node) {
			edit(n)
			n.InstanceInfo = format.Copied(n.InstanceInfo)
			n.InstanceInfo["configdrive"] = mask.Masked
		}
	}
	return nil
}

// steps reads the steps that the request names.
func (p *Provision) steps(k node.OperationKind) ([]node.Step, error) {
	if p.Runbook != nil {
		return runbookSteps(p.Runbook), nil
	}
	name := k.Spec().AskedSteps
	if name == "" {
		return nil, nil
	}
	raw, err := json.Marshal(p.Fields[name])
	if err != nil {
		return nil, fault.New(fault.Invalid, "Invalid %s: %w", name, err)
	}
	return plan.ReadSteps(k, raw)
}

// check refuses parameters that the verb or the version does not have (Ironic
// api/controllers/v1/node.py, provision).
func (p *Provision) check() error {
	if err := p.checkDrive(); err != nil {
		return err
	}
	for _, f := range node.VerbFields {
		if !p.given(f.Name) {
			continue
		}
		if since := f.Minor(); since > p.Minor {
			return format.TooNew(since)
		}
		if !f.Of(p.Verb, p.Minor) {
			return fault.New(fault.Invalid, "%q is only valid when setting target provision state to %s", f.Name, f.Targets(p.Minor))
		}
	}
	if p.Verb.Event == node.EventRescue && p.RescueHash == "" {
		return fault.New(fault.Invalid, `A non-empty "rescue_password" is required when setting target provision state to rescue`)
	}
	if err := p.checkRunbook(); err != nil || p.Runbook != nil {
		return err
	}
	asked, _ := p.Fields[p.Verb.Kind.Spec().AskedSteps].([]any)
	return plan.RequireSteps(p.Verb.Kind, len(asked))
}

// given reports whether a parameter is there, and neither null nor an empty list.
func (p *Provision) given(name string) bool {
	switch v := p.Fields[name].(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	}
	return true
}

func (p *Provision) checkDrive() error {
	if p.Drive == nil {
		return nil
	}
	switch {
	case p.Verb.Event == node.EventDeploy:
	case p.Verb.Event == node.EventRebuild && p.Minor >= 35:
	case p.Minor >= 35:
		return fault.New(fault.Invalid, "Adding a config drive is only supported when setting provision state to active, rebuild")
	default:
		return fault.New(fault.Invalid, "Adding a config drive is only supported when setting provision state to active")
	}
	if parts, ok := p.Drive.(map[string]any); ok {
		if p.Minor < 56 {
			return fault.New(fault.Invalid, "Providing a JSON object for configdrive is only supported starting with API version 1.56")
		}
		if _, ok := parts["vendor_data"]; ok && p.Minor < 59 {
			return fault.New(fault.Invalid, "Providing vendor_data in configdrive is only supported starting with API version 1.59")
		}
	}
	if p.DriveErr != nil {
		return fault.New(fault.KindOf(p.DriveErr), "Invalid configdrive format: %w", p.DriveErr)
	}
	return nil
}
