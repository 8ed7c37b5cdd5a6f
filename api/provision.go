package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/secret"
)

var provisionParameters = []string{
	"target", "configdrive", "clean_steps", "deploy_steps", "service_steps", "rescue_password", "disable_ramdisk", "runbook",
}

// provision is a PUT of states/provision, taken apart before the node is looked at.
type provision struct {
	*object
	verb           node.Verb
	user           string
	minor          int
	disableRamdisk *bool
	onFailure      node.OnFailure
	info           map[string]any // changes of instance_info; nil = none
	drive          any            // the config drive as it was given; nil = none
	driveErr       error
}

// putProvision answers PUT /v1/nodes/X/states/provision.
func (s *Server) putProvision(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBodyProvision, provisionParameters...)
	if err != nil {
		return 0, nil, err
	}
	in.need("target")
	p := &provision{object: in, verb: node.VerbOf(in.text("target")), user: user(c), minor: minor(c), disableRamdisk: in.boolean("disable_ramdisk")}
	if p.onFailure, err = s.onFailure(c); err != nil {
		return 0, nil, err
	}
	in.text("rescue_password")
	for _, name := range []string{"clean_steps", "deploy_steps", "service_steps"} {
		in.list(name)
	}
	if in.err != nil {
		return 0, nil, in.err
	}
	if p.drive = in.fields["configdrive"]; p.drive == "" {
		p.drive = nil
	}
	if p.drive != nil {
		// It may be 64 MiB: looked at before the node's row is locked, and
		// complained of where Ironic complains.
		_, p.driveErr = configdrive.Parse(p.drive)
	}
	return s.request(c, p.verb.Event, func(n *node.Node, fl *fleet) (*node.Request, error) { return s.decide(p, n, fl) })
}

// asked is what is asked of a node.
type asked struct {
	event   node.Event // of the life cycle; "" = nothing of it
	patient bool       // it waits where nobody could do it now
	once    node.Once
	// decide runs with the node's row locked, and reads only its arguments.
	decide func(*node.Node, *fleet) (*node.Request, error)
}

// request is submit as Ironic answers it: 202, and where the states are.
func (s *Server) request(c *gin.Context, e node.Event, decide func(*node.Node, *fleet) (*node.Request, error)) (int, any, error) {
	patient, err := waitsForConductor(c)
	if err != nil {
		return 0, nil, err
	}
	if _, _, err := s.submit(c, asked{event: e, patient: patient, decide: decide}); err != nil {
		return 0, nil, err
	}
	located(c, "nodes/"+url.PathEscape(c.Param("node"))+"/states")
	return http.StatusAccepted, nil, nil
}

// submit decides what is asked of a node and hands on what that opened or
// steered; nil where the node only moved.
func (s *Server) submit(c *gin.Context, a asked) (*node.Operation, *fleet, error) {
	ctx := c.Request.Context()
	ident, err := s.ident(c, c.Param("node"))
	if err != nil {
		return nil, nil, err
	}
	fl, err := s.fleet(ctx)
	if err != nil {
		return nil, nil, err
	}
	fl.patient = a.patient
	var opened bool
	o, repeated, err := s.Store.RequestOnce(ctx, ident, a.once, func(n *node.Node) (*node.Request, error) {
		r, err := a.decide(n, fl)
		if err != nil {
			return nil, helped(err, n, a.event)
		}
		r.User, opened = user(c), r.Open != nil
		return r, nil
	})
	if err != nil || o == nil {
		return nil, fl, err
	}
	annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID))
	c.Header(headerOperation, strconv.FormatInt(o.ID, 10))
	if repeated {
		logger(c).Info("request was accepted before", zap.String("kind", string(o.Kind)), zap.String("user", user(c)))
		return o, fl, nil
	}
	logger(c).Info("request accepted", zap.String("kind", string(o.Kind)), zap.String("asked", string(o.Asked)), zap.String("user", user(c)))
	switch {
	case opened:
		s.started(c, o)
	case o.EndedAt != nil:
		s.ended(c, o)
	default:
		s.nudged(c, o)
	}
	return o, fl, nil
}

// decide makes of a request what is written, in Ironic's order: version,
// maintenance and life cycle, parameters, conductor, interfaces and steps.
func (s *Server) decide(p *provision, n *node.Node, fl *fleet) (*node.Request, error) {
	if p.verb.Minor > p.minor {
		return nil, fault.New(fault.NotAcceptable, "Request not acceptable.")
	}
	if orphaned := fl.orphaned(n); orphaned || n.Operation != nil && n.Operation.Stalled == node.StallDeaths {
		if r, err := s.end(p, n, orphaned); r != nil || err != nil {
			return r, err
		}
	}
	d, err := admission.Verb(n, p.verb, fl.reservation(n))
	if err != nil {
		return nil, err
	}
	// Aborting a deploy came with 1.110; what is built is offered at the newest
	// version that is served.
	if min(p.verb.MinorIn(n.ProvisionState), MaxMinor) > p.minor {
		return nil, fault.New(fault.NotAcceptable, "Request not acceptable.")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &node.Request{Move: d.Move, Apply: d.Apply}
	switch {
	case d.Steer != "":
		r.Steer = &node.Steer{Ask: d.Steer, By: p.user, Reason: p.verb.Target}
		if d.Steer == node.AskDelete {
			r.Steer.OnFailure = p.onFailure
		}
		return r, nil
	case d.Open == "":
		return r, nil
	}
	return r, s.open(p, n, fl, d, r)
}

// open fills r with the operation that d opens.
func (s *Server) open(p *provision, n *node.Node, fl *fleet, d admission.Effect, r *node.Request) error {
	if err := fl.covered(n); err != nil {
		return err
	}
	asked, err := p.steps(d.Open)
	if err != nil {
		return err
	}
	after, secrets, err := p.noted(n)
	if err != nil {
		return err
	}
	steps, err := s.plan(after, d.Open, asked, p)
	if err != nil {
		return err
	}
	masked, hidden := secret.MaskArgs(after, d.Open, steps)
	r.Open = &node.Operation{Kind: d.Open, Target: d.Target, Steps: masked, RequestedBy: p.user, OnFailure: p.onFailure}
	r.Secrets = secrets
	for path, v := range hidden {
		r.Secrets["steps/"+path] = v
	}
	if p.info != nil {
		edit := r.Apply
		r.Apply = func(n *node.Node) {
			edit(n)
			n.InstanceInfo = after.InstanceInfo
		}
	}
	if d.Open.Spec().Leases && s.AutomaticLessee {
		edit := r.Apply
		r.Apply = func(n *node.Node) {
			edit(n)
			node.LeaseToInstance(n)
		}
	}
	if p.drive != nil {
		r.Secrets["instance_info/configdrive"] = p.drive
		edit := r.Apply
		r.Apply = func(n *node.Node) {
			edit(n)
			n.InstanceInfo = copied(n.InstanceInfo)
			n.InstanceInfo["configdrive"] = mask.Masked
		}
	}
	return nil
}

// steps reads the steps that the request names.
func (p *provision) steps(k node.Kind) ([]node.Step, error) {
	name := k.Spec().AskedSteps
	if name == "" {
		return nil, nil
	}
	raw, err := json.Marshal(p.fields[name])
	if err != nil {
		return nil, fault.New(fault.Invalid, "Invalid %s: %w", name, err)
	}
	return plan.ReadSteps(k, raw)
}

// check refuses parameters that the verb or the version does not have (Ironic
// api/controllers/v1/node.py, provision).
func (p *provision) check() error {
	target := p.verb.Target
	deploys := p.verb.Event == node.EventDeploy || p.verb.Event == node.EventRebuild
	if err := p.checkDrive(); err != nil {
		return err
	}
	for _, one := range []struct {
		name  string
		since int
		fits  bool
		words string
	}{
		{"disable_ramdisk", 70, p.verb.Event == node.EventClean, `"disable_ramdisk" is only valid when setting target provision state to "clean"`},
		{"clean_steps", 1, p.verb.Event == node.EventClean, `"clean_steps" is only valid when setting target provision state to clean`},
		{"deploy_steps", 69, deploys, `"deploy_steps" is only valid when setting target provision state to active or rebuild`},
		{"service_steps", 87, p.verb.Event == node.EventService, `"service_steps" is only valid when setting target provision state to service`},
		{"rescue_password", 1, p.verb.Event == node.EventRescue, `"rescue_password" is only valid when setting target provision state to rescue`},
		{
			"runbook", 92, p.verb.Event == node.EventClean || p.verb.Event == node.EventService,
			`"runbook" is only valid when setting target provision state to clean or service`,
		},
	} {
		if !p.given(one.name) {
			continue
		}
		if one.since > p.minor {
			return tooNew(one.since)
		}
		if !one.fits {
			return fault.New(fault.Invalid, "%s", one.words)
		}
	}
	if p.given("runbook") {
		return fault.New(fault.NotFound, "Runbook %s could not be found.", describe(p.fields["runbook"]))
	}
	if target == "clean" && len(p.list("clean_steps")) == 0 {
		return fault.New(fault.Invalid, `"clean_steps" is required when setting target provision state to clean`)
	}
	return nil
}

// given reports whether a parameter says something; an empty list does not.
func (p *provision) given(name string) bool {
	switch v := p.fields[name].(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	}
	return true
}

func (p *provision) checkDrive() error {
	if p.drive == nil {
		return nil
	}
	switch {
	case p.verb.Event == node.EventDeploy:
	case p.verb.Event == node.EventRebuild && p.minor >= 35:
	case p.minor >= 35:
		return fault.New(fault.Invalid, "Adding a config drive is only supported when setting provision state to active, rebuild")
	default:
		return fault.New(fault.Invalid, "Adding a config drive is only supported when setting provision state to active")
	}
	if parts, ok := p.drive.(map[string]any); ok {
		if p.minor < 56 {
			return fault.New(fault.Invalid, "Providing a JSON object for configdrive is only supported starting with API version 1.56")
		}
		if _, ok := parts["vendor_data"]; ok && p.minor < 59 {
			return fault.New(fault.Invalid, "Providing vendor_data in configdrive is only supported starting with API version 1.59")
		}
	}
	if p.driveErr != nil {
		return fault.New(fault.KindOf(p.driveErr), "Invalid configdrive format: %w", p.driveErr)
	}
	return nil
}
