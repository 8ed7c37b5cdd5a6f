package temper

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// orderParameters are the fields of a POST of operations.
var orderParameters = append([]string{
	"verb", "instance_info", "config_drive", "steps", "timeout", "on_failure", "wait_for_conductor", "idempotency_key", "dry_run",
	"boot_device", "persistent", "method", "args",
}, node.VerbFieldNames(true)...)

// maxIdempotencyKey bounds an idempotency key, in bytes.
const maxIdempotencyKey = 255

// order is a POST of operations, taken apart before the node is looked at.
type order struct {
	intent.Asked
	dryRun    bool
	obstacles func(*node.Node, *intent.Fleet) []error // everything that is in its way
}

// createOperation answers POST /temper/v1/nodes/X/operations: everything that a
// PATCH of instance_info and a PUT of a state could ask for, in one transaction.
func (s *Server) createOperation(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBodyProvision, orderParameters...)
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
	op, fl, err := s.Submit(c, o.Asked)
	switch {
	case err != nil:
		return 0, nil, err
	case op == nil:
		return http.StatusNoContent, nil, nil
	}
	c.Header("Location", fmt.Sprintf("%s/temper/v1/operations/%d", format.PublicURL(c), op.ID))
	return s.acceptedOperation(c, op, fl)
}

func (s *Server) readOrder(c *gin.Context, in *format.Object) (*order, error) {
	in.Require("verb")
	word, key := in.Text("verb"), in.Text("idempotency_key")
	patient, dryRun := in.Boolean("wait_for_conductor"), in.Boolean("dry_run")
	if in.Has("idempotency_key") && (key == "" || len(key) > maxIdempotencyKey) {
		in.Fail("The idempotency_key must have 1 to %d bytes", maxIdempotencyKey)
	}
	if in.Err != nil {
		return nil, in.Err
	}
	o := &order{Asked: intent.Asked{WaitsForConductor: patient != nil && *patient}, dryRun: dryRun != nil && *dryRun}
	var err error
	if key != "" {
		if o.Once, err = onceOf(in, key); err != nil {
			return nil, err
		}
	}
	if slices.Contains(orderVerbs(), word) {
		audit.Of(c.Request.Context()).Verb(word)
	}
	audit.Of(c.Request.Context()).Ruled(verbRule(word).Name)
	if err := httpd.PermitTarget(c, verbRule(word)); err != nil {
		return nil, err
	}
	if slices.Contains(node.PowerTargets, node.PowerState(word)) {
		return o, s.readPowerOrder(c, in, node.PowerState(word), o)
	}
	if kind, ok := managementVerbs[word]; ok {
		return o, s.readManagementOrder(c, in, kind, o)
	}
	if word == string(node.KindVendorPassthru) {
		return o, s.readVendorOrder(c, in, o)
	}
	verb := node.VerbOf(word)
	if verb.Event == "" {
		return nil, fault.New(fault.Invalid, "Verb %s is not valid, it is one of %s.", format.Describe(word), strings.Join(orderVerbs(), ", "))
	}
	if o.Provision, err = s.readProvisionOrder(c, in, verb); err != nil {
		return nil, err
	}
	if err := s.ReadRunbook(c, o.Provision); err != nil {
		return nil, err
	}
	o.Event = verb.Event
	o.Decide = func(n *node.Node, fl *intent.Fleet) (*node.Request, error) { return s.Decide(o.Provision, n, fl) }
	o.obstacles = func(n *node.Node, fl *intent.Fleet) []error { return s.Obstacles(o.Provision, n, fl) }
	return o, nil
}

// verbRule is the rule of a verb.
func verbRule(word string) *access.Rule {
	switch {
	case slices.Contains(node.PowerTargets, node.PowerState(word)):
		return access.NodeSetPower
	case word == node.StepSetBootDevice:
		return access.NodeSetBootDevice
	case word == node.StepInjectNMI:
		return access.NodeInjectNMI
	case word == node.VerbRotatePassword:
		return access.NodeRotatePassword
	case word == string(node.KindVendorPassthru):
		return access.NodeVendorPassthru
	}
	return access.NodeSetProvision
}

// kindRule is the rule of repeating an operation of a kind: that of the verb which asks for it.
func kindRule(kind node.OperationKind) *access.Rule {
	switch kind { //nolint:exhaustive // the others are work of the life cycle
	case node.KindPower:
		return access.NodeSetPower
	case node.KindBootDevice:
		return access.NodeSetBootDevice
	case node.KindNMI:
		return access.NodeInjectNMI
	case node.KindBootMode:
		return access.NodeSetBootMode
	case node.KindSecureBoot:
		return access.NodeSetSecureBoot
	case node.KindIndicator:
		return access.NodeSetIndicator
	case node.KindAttachMedia:
		return access.NodeAttachMedia
	case node.KindDetachMedia:
		return access.NodeDetachMedia
	case node.KindBMCPassword:
		return access.NodeRotatePassword
	case node.KindVendorPassthru:
		return access.NodeVendorPassthru
	}
	return access.NodeSetProvision
}

// orderVerbs are the words that an order may have as its verb.
func orderVerbs() (out []string) {
	for _, v := range node.Verbs {
		out = append(out, v.Target)
	}
	for _, p := range node.PowerTargets {
		out = append(out, string(p))
	}
	return append(append(out, slices.Sorted(maps.Keys(managementVerbs))...), string(node.KindVendorPassthru))
}

// onceOf is the key of a request, and the digest of what it asks for. Fields are
// sorted, so neither their order nor blanks matter.
func onceOf(in *format.Object, key string) (node.IdempotencyKey, error) {
	asked := format.Copied(in.Fields)
	delete(asked, "idempotency_key")
	delete(asked, "dry_run")
	text, err := json.Marshal(asked)
	if err != nil {
		return node.IdempotencyKey{}, fault.New(fault.Internal, "digest the request: %w", err)
	}
	digest := sha256.Sum256(text)
	return node.IdempotencyKey{Key: key, Digest: digest[:]}, nil
}

// unfit refuses fields that the verb has no use for.
func unfit(in *format.Object, verb string, names ...string) error {
	for _, name := range names {
		if in.Has(name) {
			return fault.New(fault.Invalid, "%s can't be given with the verb %q", name, verb)
		}
	}
	return nil
}

// managementVerbs are the verbs for requests to the management interface.
var managementVerbs = map[string]node.OperationKind{
	node.StepSetBootDevice: node.KindBootDevice, node.StepInjectNMI: node.KindNMI, node.VerbRotatePassword: node.KindBMCPassword,
}

// bootFields are the fields of the verb set_boot_device, and vendorFields those of vendor_passthru.
var (
	bootFields   = []string{"boot_device", "persistent"}
	vendorFields = []string{"method", "args"}
)

// requestFields are the fields of all verbs for one request to the BMC.
var requestFields = slices.Concat(bootFields, vendorFields)

// provisionFields are the fields that only verbs of the life cycle have.
var provisionFields = append([]string{"instance_info", "config_drive", "steps", "on_failure"}, node.VerbFieldNames(true)...)

func (s *Server) readPowerOrder(c *gin.Context, in *format.Object, target node.PowerState, o *order) error {
	if err := unfit(in, string(target), slices.Concat(provisionFields, requestFields)...); err != nil {
		return err
	}
	timeout, err := intent.PowerTimeout(in)
	by := httpd.User(c)
	o.Decide = func(n *node.Node, fl *intent.Fleet) (*node.Request, error) {
		return s.DecidePower(n, fl, target, timeout, by)
	}
	o.obstacles = func(n *node.Node, fl *intent.Fleet) []error { return s.PowerObstacles(n, fl, target) }
	return err
}

func (s *Server) readManagementOrder(c *gin.Context, in *format.Object, kind node.OperationKind, o *order) error {
	others := slices.Concat(provisionFields, []string{"timeout"}, vendorFields, bootFields)
	var device node.BootDevice
	if kind == node.KindBootDevice {
		var err error
		if device, err = intent.BootDeviceOf(in); err != nil {
			return err
		}
		others = others[:len(others)-len(bootFields)]
	}
	if err := unfit(in, in.Text("verb"), others...); err != nil {
		return err
	}
	by := httpd.User(c)
	o.Decide = func(n *node.Node, fl *intent.Fleet) (*node.Request, error) {
		return s.DecideManagement(n, fl, kind, plan.Options{BootDevice: device}, by)
	}
	o.obstacles = func(n *node.Node, fl *intent.Fleet) []error { return s.ManagementObstacles(n, fl, kind) }
	return nil
}

// readVendorOrder reads the verb vendor_passthru: a call of a method that changes something.
func (s *Server) readVendorOrder(c *gin.Context, in *format.Object, o *order) error {
	in.Require("method")
	method := in.Text("method")
	args, _ := in.Fields["args"].(map[string]any)
	if args == nil && in.Has("args") {
		in.Fail("Expected an object for args: %s", format.Describe(in.Fields["args"]))
	}
	if in.Err != nil {
		return in.Err
	}
	if err := unfit(in, in.Text("verb"), slices.Concat(provisionFields, []string{"timeout"}, bootFields)...); err != nil {
		return err
	}
	by, given := httpd.User(c), &format.Object{Fields: args}
	o.Decide = func(n *node.Node, fl *intent.Fleet) (*node.Request, error) {
		return s.DecideVendor(n, fl, method, given, by)
	}
	o.obstacles = func(n *node.Node, fl *intent.Fleet) []error { return s.VendorObstacles(n, fl, method, given) }
	return nil
}

// readProvisionOrder makes of an order what a PUT of states/provision is read as.
func (s *Server) readProvisionOrder(c *gin.Context, in *format.Object, verb node.Verb) (*intent.Provision, error) {
	spec := verb.Kind.Spec()
	steps, onFailure := in.List("steps"), in.Text("on_failure")
	p := &intent.Provision{
		Verb: verb, User: httpd.User(c), Minor: format.MaxMinor, DisableRamdisk: in.Boolean("disable_ramdisk"), OnFailure: s.OnFailure,
		Object: &format.Object{Fields: map[string]any{}},
	}
	for _, name := range node.VerbFieldNames(true) {
		p.Fields[name] = in.Fields[name]
	}
	if info, ok := in.Fields["instance_info"].(map[string]any); ok {
		p.Info = info
	} else if in.Has("instance_info") {
		in.Fail("Expected an object for instance_info: %s", format.Describe(in.Fields["instance_info"]))
	}
	var wrong error
	if p.RescueHash, wrong = intent.RescueHash(verb, in.Text("rescue_password")); wrong == nil {
		p.RescueKeys, wrong = intent.RescueKeys(in.List(node.RescueKeys))
	}
	misplaced := unfit(in, verb.Target, append([]string{"timeout"}, requestFields...)...)
	switch {
	case wrong != nil:
	case in.Err != nil:
		wrong = in.Err
	case misplaced != nil:
		wrong = misplaced
	case !verb.Deploys() && (p.Info != nil || in.Has("config_drive")):
		wrong = unfit(in, verb.Target, "instance_info", "config_drive")
	case len(steps) > 0 && spec.AskedSteps == "":
		wrong = unfit(in, verb.Target, "steps")
	case !in.Has("runbook") && plan.RequireSteps(verb.Kind, len(steps)) != nil:
		wrong = fault.New(fault.Invalid, "steps is required with the verb %q", verb.Target)
	case in.Has("on_failure"):
		p.OnFailure, wrong = intent.AsOnFailure(onFailure)
	}
	if wrong != nil {
		return nil, wrong
	}
	if spec.AskedSteps != "" {
		p.Fields[spec.AskedSteps] = in.Fields["steps"]
	}
	if p.Drive = in.Fields["config_drive"]; p.Drive == "" {
		p.Drive = nil
	}
	if p.Drive != nil {
		_, p.DriveErr = configdrive.Parse(p.Drive)
	}
	return p, nil
}
