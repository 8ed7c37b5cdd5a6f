package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// orderParameters are the fields of a POST of operations.
var orderParameters = []string{
	"verb", "instance_info", "config_drive", "steps", "disable_ramdisk", "timeout", "on_failure", "wait_for_conductor", "idempotency_key", "dry_run",
}

// maxIdempotencyKey bounds an idempotency key, in bytes.
const maxIdempotencyKey = 255

// order is a POST of operations, taken apart before the node is looked at.
type order struct {
	asked
	dryRun    bool
	provision *provision // nil = a power change
}

// createOperation answers POST /temper/v1/nodes/X/operations: everything that a
// PATCH of instance_info and a PUT of a state could ask for, in one transaction.
func (s *Server) createOperation(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBodyProvision, orderParameters...)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.readOrder(c, in)
	if err != nil {
		return 0, nil, err
	}
	if o.dryRun {
		return s.tryOrder(c, o)
	}
	op, fl, err := s.submit(c, o.asked)
	switch {
	case err != nil:
		return 0, nil, err
	case op == nil:
		return http.StatusNoContent, nil, nil
	}
	c.Header("Location", publicURL(c)+operationPath(op.ID, ""))
	return http.StatusAccepted, s.showOperation(op, fl), nil
}

func (s *Server) readOrder(c *gin.Context, in *object) (*order, error) {
	in.need("verb")
	word, key := in.text("verb"), in.text("idempotency_key")
	patient, dryRun := in.boolean("wait_for_conductor"), in.boolean("dry_run")
	if in.has("idempotency_key") && (key == "" || len(key) > maxIdempotencyKey || hasNUL(key)) {
		in.fail("The idempotency_key must have 1 to %d bytes and no NUL character", maxIdempotencyKey)
	}
	if in.err != nil {
		return nil, in.err
	}
	o := &order{asked: asked{patient: patient != nil && *patient}, dryRun: dryRun != nil && *dryRun}
	var err error
	if key != "" {
		if o.once, err = onceOf(in, key); err != nil {
			return nil, err
		}
	}
	if slices.Contains(node.PowerTargets, node.PowerState(word)) {
		o.decide, err = s.readPowerOrder(c, in, node.PowerState(word))
		return o, err
	}
	verb := node.VerbOf(word)
	if verb.Event == "" {
		return nil, fault.New(fault.Invalid, "Verb %s is not valid, it is one of %s.", describe(word), strings.Join(orderVerbs(), ", "))
	}
	if o.provision, err = s.readProvisionOrder(c, in, verb); err != nil {
		return nil, err
	}
	o.event = verb.Event
	o.decide = func(n *node.Node, fl *fleet) (*node.Request, error) { return s.decide(o.provision, n, fl) }
	return o, nil
}

// orderVerbs are the words that an order may have as its verb.
func orderVerbs() (out []string) {
	for _, v := range node.Verbs {
		out = append(out, v.Target)
	}
	for _, p := range node.PowerTargets {
		out = append(out, string(p))
	}
	return out
}

// onceOf is the key of a request, and the digest of what it asks for. Fields are
// sorted, so neither their order nor blanks matter.
func onceOf(in *object, key string) (node.Once, error) {
	asked := copied(in.fields)
	delete(asked, "idempotency_key")
	delete(asked, "dry_run")
	text, err := json.Marshal(asked)
	if err != nil {
		return node.Once{}, fault.New(fault.Internal, "digest the request: %w", err)
	}
	digest := sha256.Sum256(text)
	return node.Once{Key: key, Digest: digest[:]}, nil
}

// unfit refuses fields that the verb has no use for.
func unfit(in *object, verb string, names ...string) error {
	for _, name := range names {
		if in.has(name) {
			return fault.New(fault.Invalid, "%s can't be given with the verb %q", name, verb)
		}
	}
	return nil
}

func (s *Server) readPowerOrder(c *gin.Context, in *object, target node.PowerState) (func(*node.Node, *fleet) (*node.Request, error), error) {
	if err := unfit(in, string(target), "instance_info", "config_drive", "steps", "disable_ramdisk", "on_failure"); err != nil {
		return nil, err
	}
	timeout, err := powerTimeout(in)
	by := user(c)
	return func(n *node.Node, fl *fleet) (*node.Request, error) { return s.decidePower(n, fl, target, timeout, by) }, err
}

// readProvisionOrder makes of an order what a PUT of states/provision is read as.
func (s *Server) readProvisionOrder(c *gin.Context, in *object, verb node.Verb) (*provision, error) {
	spec := verb.Kind.Spec()
	steps, onFailure := in.list("steps"), in.text("on_failure")
	p := &provision{
		verb: verb, user: user(c), minor: MaxMinor, disableRamdisk: in.boolean("disable_ramdisk"), onFailure: s.OnFailure,
		object: &object{fields: map[string]any{"disable_ramdisk": in.fields["disable_ramdisk"]}},
	}
	if info, ok := in.fields["instance_info"].(map[string]any); ok {
		p.info = info
	} else if in.has("instance_info") {
		in.fail("Expected an object for instance_info: %s", describe(in.fields["instance_info"]))
	}
	deploys := verb.Event == node.EventDeploy || verb.Event == node.EventRebuild
	var wrong error
	switch {
	case in.err != nil:
		wrong = in.err
	case in.has("timeout"):
		wrong = unfit(in, verb.Target, "timeout")
	case !deploys && (p.info != nil || in.has("config_drive")):
		wrong = unfit(in, verb.Target, "instance_info", "config_drive")
	case len(steps) > 0 && spec.AskedSteps == "":
		wrong = unfit(in, verb.Target, "steps")
	case len(steps) == 0 && spec.AskedOnly:
		wrong = fault.New(fault.Invalid, "steps is required with the verb %q", verb.Target)
	case hasNUL(p.info):
		wrong = fault.New(fault.Invalid, "instance_info holds a NUL character")
	case in.has("on_failure"):
		p.onFailure, wrong = asOnFailure(onFailure)
	}
	if wrong != nil {
		return nil, wrong
	}
	if spec.AskedSteps != "" {
		p.fields[spec.AskedSteps] = in.fields["steps"]
	}
	if p.drive = in.fields["config_drive"]; p.drive == "" {
		p.drive = nil
	}
	if p.drive != nil {
		_, p.driveErr = configdrive.Parse(p.drive)
	}
	return p, nil
}

// noted is n with the instance_info that the request gives, and the secrets in
// it. Keys that are not given stay as they are; null removes one.
func (p *provision) noted(n *node.Node) (*node.Node, node.Secrets, error) {
	after := *n
	if p.info == nil {
		return &after, node.Secrets{}, nil
	}
	after.InstanceInfo = copied(n.InstanceInfo)
	for key, v := range p.info {
		if after.InstanceInfo[key] = v; v == nil {
			delete(after.InstanceInfo, key)
		}
	}
	secrets, err := maskNode(n, &after)
	if err != nil {
		return nil, nil, err
	}
	return &after, secrets, secret.CheckDestinations(secret.Destinations(n), &after, secrets)
}

// shownTrial is what would become of an order.
type shownTrial struct {
	Accepted bool           `json:"accepted"`
	Refusals []shownRefusal `json:"refusals"`
	Steps    []trialStep    `json:"steps"`
}

type shownRefusal struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

type trialStep struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	Expected  any    `json:"expected_seconds"` // null = no such step has succeeded lately
}

// tryOrder says what would become of an order, and changes nothing.
func (s *Server) tryOrder(c *gin.Context, o *order) (int, any, error) {
	n, fl, err := s.nodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	fl.patient = o.patient
	out := shownTrial{Refusals: []shownRefusal{}, Steps: []trialStep{}}
	r, err := o.decide(n, fl)
	if err != nil {
		if statusOf(err) == http.StatusInternalServerError {
			return 0, nil, err
		}
		for _, why := range append([]error{err}, s.obstacles(o, n, fl)...) {
			one := shownRefusal{fault.CodeOf(why), fault.Text(why)}
			if !slices.Contains(out.Refusals, one) {
				out.Refusals = append(out.Refusals, one)
			}
		}
		return http.StatusOK, out, nil
	}
	out.Accepted = true
	if r == nil || r.Open == nil {
		return http.StatusOK, out, nil
	}
	usual, err := s.usualSeconds(c, r.Open.Kind, n.Driver)
	if err != nil {
		return 0, nil, err
	}
	for _, st := range r.Open.Steps {
		if st.State == node.StepSkipped {
			continue
		}
		one := trialStep{Interface: st.Interface, Step: st.Step}
		if seconds, known := usual[st.Name()]; known {
			one.Expected = seconds
		}
		out.Steps = append(out.Steps, one)
	}
	return http.StatusOK, out, nil
}

// obstacles are what else is in the way of work that was refused: an order is
// refused for the first thing that is wrong, and people want to know of all.
func (s *Server) obstacles(o *order, n *node.Node, fl *fleet) (all []error) {
	if err := fl.covered(n); err != nil {
		all = append(all, err)
	}
	if o.provision == nil || o.provision.verb.Kind == "" {
		return all
	}
	after, _, err := o.provision.noted(n)
	if err == nil {
		err = s.fits(after, o.provision.verb.Kind, false)
	}
	if err != nil {
		all = append(all, err)
	}
	return all
}

// usualSample is how many operations expectations are made of.
const usualSample = 20

// usualSeconds is how long steps took lately, by name: the median of those that
// succeeded on nodes with the same driver.
func (s *Server) usualSeconds(c *gin.Context, k node.Kind, driver string) (map[string]float64, error) {
	ops, err := s.Store.Operations(c.Request.Context(), node.OperationFilter{Kind: k, Phase: node.Ended, Outcome: node.Succeeded, Limit: usualSample})
	if err != nil {
		return nil, err
	}
	took := map[string][]time.Duration{}
	for _, op := range ops {
		for _, st := range op.Steps {
			if op.Driver == driver && st.State == node.StepDone && st.StartedAt != nil && st.EndedAt != nil {
				took[st.Name()] = append(took[st.Name()], st.EndedAt.Sub(*st.StartedAt))
			}
		}
	}
	out := map[string]float64{}
	for name, all := range took {
		slices.SortFunc(all, cmp.Compare[time.Duration])
		out[name] = all[len(all)/2].Round(time.Millisecond).Seconds()
	}
	return out, nil
}

// asOnFailure reads what an operation does when a step fails for good.
func asOnFailure(word string) (node.OnFailure, error) {
	if !slices.Contains(node.OnFailures, node.OnFailure(word)) {
		return "", fault.New(fault.Invalid, "on_failure \"%s\" is not valid, it is one of %v", clip(word), node.OnFailures)
	}
	return node.OnFailure(word), nil
}
