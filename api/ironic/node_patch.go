package ironic

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// nodePatch is a PATCH of a node, taken apart before the node is looked at.
type nodePatch struct {
	ops   []format.PatchOp
	roots []string
	reset bool // reset_interfaces
	knows bool // what nodes in maintenance require: a claim may ask for one
	minor int
	ident string // as the client calls the node
	fleet *intent.Fleet
	// ownsProvisioned: the client may give an active node to another project.
	ownsProvisioned bool
}

// patchNode answers PATCH /v1/nodes/X.
func (s *Server) patchNode(c *gin.Context) (int, any, error) {
	p, err := readNodePatch(c)
	if err != nil {
		return 0, nil, err
	}
	if err := p.permitted(c); err != nil {
		return 0, nil, err
	}
	ident, err := s.Ident(c, p.ident)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	if err := s.checkParent(c, p.parent()); err != nil {
		return 0, nil, err
	}
	if err := s.checkChassis(ctx, p.chassis()); err != nil {
		return 0, nil, err
	}
	if p.fleet, err = s.Fleet(ctx); err != nil {
		return 0, nil, err
	}
	service := c.GetHeader(intent.HeaderCompute)
	if service != "" && !node.ValidServiceName(service) {
		return 0, nil, fault.New(fault.Invalid, "%s names no compute service: %s", intent.HeaderCompute, format.Clip(service))
	}
	if service != "" {
		if err := s.SpeaksFor(c, service); err != nil {
			return 0, nil, err
		}
	}
	n, err := s.claim(c, ident, p, share.Claimer{Service: service, Knows: p.knows})
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("node changed", zap.String("node", n.UUID), zap.Strings("fields", p.roots), zap.String("user", httpd.User(c)))
	if p.minor >= minorHealth {
		if h, err := s.Store.NodeHealth(ctx, n.UUID); err == nil {
			n.Health = h.Status
		} else if !fault.Is(err, fault.NotFound) {
			return 0, nil, err
		}
	}
	if p.touches("maintenance") || slices.ContainsFunc(p.roots, admission.Moves) {
		s.TellPaused(c, n.Operation)
	}
	body, err := s.render(c, s.viewOf(c, n, p.fleet), nodeAttributes.UpTo(p.minor), true)
	return http.StatusOK, body, err
}

// claim carries out the patch when it is the request's turn.
func (s *Server) claim(c *gin.Context, ident string, p *nodePatch, by share.Claimer) (n *node.Node, err error) {
	ctx := c.Request.Context()
	err = s.InTurn(ctx, p.fleet, func(t *lockwait.Turn) (err error) {
		n, err = s.Store.ClaimNode(ctx, ident, httpd.User(c), by, func(n *node.Node) (secrets node.Secrets, err error) {
			err = s.Admit(t, n, func(n *node.Node) (err error) {
				before := *n
				secrets, err = s.patch(p, n)
				return intent.Helped(err, &before, "")
			})
			return secrets, err
		})
		if t.Again() || !lockwait.IsBrief(err) {
			return err
		}
		if taken := s.instanceTaken(ctx, ident, p.instance()); taken != nil {
			return taken // Ironic refuses the second claim of an instance at once
		}
		return err
	})
	return n, err
}

// instanceTaken returns an error if a node other than ident has the instance, so that a PATCH that gives it to that one would fail
// after its wait. instance may be "".
func (s *Server) instanceTaken(ctx context.Context, ident, instance string) error {
	if instance == "" {
		return nil
	}
	has, err := s.Store.Nodes(ctx, node.Filter{InstanceUUID: &instance, IncludeChildren: true}, node.Page{Limit: 1})
	if err == nil && len(has) > 0 && has[0].UUID != ident && has[0].Name != ident {
		err = fault.Coded(fault.AlreadyExists, node.InstanceTaken, instance)
	}
	return err
}

func readNodePatch(c *gin.Context) (*nodePatch, error) {
	q := format.ReadQuery(c, "reset_interfaces", "knows")
	q.RequireVersion(45, "reset_interfaces")
	reset := q.Boolean("reset_interfaces")
	if q.Err != nil {
		return nil, q.Err
	}
	ops, err := format.ReadPatch(c)
	if err != nil {
		return nil, err
	}
	p := &nodePatch{ops: ops, knows: slices.Contains(q.List("knows"), "requires"), roots: format.Roots(ops), reset: reset != nil && *reset, minor: q.Minor, ident: c.Param("node")}
	if err := nodeAttributes.Patchable(ops, p.minor); err != nil {
		return nil, err
	}
	for _, op := range ops {
		if name, ok := op.Value.(string); op.Path == "/name" && ok {
			if err := checkNodeName(name, p.minor, "Node "+format.Clip(p.ident)+": Cannot change name to invalid name '%s'"); err != nil {
				return nil, err
			}
		}
	}
	if reset != nil && !p.touches("driver") {
		return nil, fault.New(fault.Invalid, "The reset_interfaces parameter can only be used when changing the node's driver.")
	}
	return p, nil
}

func (p *nodePatch) touches(root string) bool { return slices.Contains(p.roots, root) }

// parent is the parent_node that the patch sets; "" = none.
func (p *nodePatch) parent() string { return node.CanonicalUUID(p.sets("/parent_node")) }

// chassis is the chassis_uuid that the patch sets; "" = none.
func (p *nodePatch) chassis() string { return node.CanonicalUUID(p.sets("/chassis_uuid")) }

// instance is the instance_uuid that the patch sets; "" = none.
func (p *nodePatch) instance() string { return node.CanonicalUUID(p.sets("/instance_uuid")) }

// sets returns the text that the patch writes to a path last; "" = none.
func (p *nodePatch) sets(path string) (text string) {
	for _, op := range p.ops {
		if op.Path == path {
			text, _ = op.Value.(string)
		}
	}
	return text
}

// onlyFreesInstance is the one change that maintenance allows at any time.
func (p *nodePatch) onlyFreesInstance() bool {
	return len(p.ops) == 1 && p.ops[0].Op == "remove" && p.ops[0].Path == "/instance_uuid"
}

// patch edits a node whose row is locked, and gives the secrets that change.
func (s *Server) patch(p *nodePatch, n *node.Node) (node.Secrets, error) {
	before := *n
	before.Interfaces = copyStrings(n.Interfaces)
	rules := admission.PatchRequest{
		Roots: p.roots, RemovesOnlyInstanceUUID: p.onlyFreesInstance(), Minor: p.minor, Reservation: p.fleet.Reservation(n),
		Orphaned: p.fleet.Orphaned(n),
	}
	if before.ProvisionState == node.Active && p.touches("owner") && !p.ownsProvisioned {
		return nil, fault.New(fault.Conflict, "Cannot update owner of node \"%s\" while it is in state \"%s\".", before.UUID, before.ProvisionState)
	}
	if err := admission.Patch(&before, &before, rules); err != nil {
		return nil, err // a client learns first that the node can't be changed now, and only then what is wrong with the change
	}
	n.Interfaces = copyStrings(n.Interfaces)
	if err := nodeAttributes.Apply(p.ops, &view{Node: &before, minor: format.MaxMinor, fleet: p.fleet, sight: everything}, n); err != nil {
		return nil, err
	}
	n.NameInstance(&before)
	if err := admission.Patch(&before, n, rules); err != nil {
		return nil, err
	}
	if err := s.completePatch(p, &before, n); err != nil {
		return nil, err
	}
	return intent.MaskNode(&before, n)
}

// completePatch checks what must hold for the node as a whole after a patch, and chooses interfaces
// anew if the driver, the conductor group or an interface has changed.
func (s *Server) completePatch(p *nodePatch, before, n *node.Node) error {
	if before.ChassisUUID != "" && n.ChassisUUID == "" && p.minor < 25 {
		return format.TooNew(25)
	}
	if n.ParentNode == n.UUID {
		return fault.New(fault.Invalid, "Node %s can not be its own parent.", n.UUID)
	}
	n.ClearStaleReasons()
	moved := before.Driver != n.Driver || before.ConductorGroup != n.ConductorGroup || !equalStrings(before.Interfaces, n.Interfaces)
	if !moved {
		return nil
	}
	if p.reset && before.Driver != n.Driver {
		p.resetInterfaces(n)
	}
	err := s.resolve(p.fleet, n)
	if err == nil || p.reset || before.Driver == n.Driver {
		return err
	}
	again := *n
	again.Interfaces = maps.Clone(n.Interfaces)
	p.resetInterfaces(&again)
	if s.resolve(p.fleet, &again) != nil {
		return err
	}
	return fault.Coded(fault.CodeOf(err), "%s. With reset_interfaces=true (--reset-interfaces) each interface that the request does not name gets the default of driver %s.",
		strings.TrimSuffix(fault.Text(err), "."), n.Driver)
}

// resetInterfaces removes the implementations of the interfaces that the patch does not name.
func (p *nodePatch) resetInterfaces(n *node.Node) {
	for _, i := range interfaceKinds {
		if !p.touches(i.name + "_interface") {
			delete(n.Interfaces, i.name)
		}
	}
}

func copyStrings(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func equalStrings(a, b map[string]string) bool {
	for _, i := range interfaceKinds {
		if a[i.name] != b[i.name] {
			return false
		}
	}
	return true
}
