package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// nodePatch is a PATCH of a node, taken apart before the node is looked at.
type nodePatch struct {
	ops   []patchOp
	roots []string
	reset bool // reset_interfaces
	knows bool // what nodes in maintenance require: a claim may ask for one
	minor int
	ident string // as the client calls the node
	fleet *fleet
}

// patchNode answers PATCH /v1/nodes/X.
func (s *Server) patchNode(c *gin.Context) (int, any, error) {
	p, err := readNodePatch(c)
	if err != nil {
		return 0, nil, err
	}
	ident, err := s.ident(c, p.ident)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	if err := s.checkParent(ctx, p.parent()); err != nil {
		return 0, nil, err
	}
	if p.fleet, err = s.fleet(ctx); err != nil {
		return 0, nil, err
	}
	service := c.GetHeader(headerCompute)
	if service != "" && !computeHost.MatchString(service) {
		return 0, nil, fault.New(fault.Invalid, "%s names no compute service: %s", headerCompute, clip(service))
	}
	n, err := s.Store.ClaimNode(ctx, ident, user(c), share.Claimer{Service: service, Knows: p.knows}, func(n *node.Node) (node.Secrets, error) {
		before := *n
		secrets, err := s.patch(p, n)
		return secrets, helped(err, &before, "")
	})
	if err != nil {
		return 0, nil, err
	}
	logger(c).Info("node changed", zap.String("node", n.UUID), zap.Strings("fields", p.roots), zap.String("user", user(c)))
	if p.touches("maintenance") || slices.ContainsFunc(p.roots, admission.Moves) {
		s.paused(c, n.Operation)
	}
	return http.StatusOK, s.render(c, s.viewOf(c, n, p.fleet), nodeAttributes.upTo(p.minor), true), nil
}

func readNodePatch(c *gin.Context) (*nodePatch, error) {
	q := readQuery(c, "reset_interfaces", "knows")
	q.need(45, "reset_interfaces")
	reset := q.boolean("reset_interfaces")
	if q.err != nil {
		return nil, q.err
	}
	ops, err := readPatch(c)
	if err != nil {
		return nil, err
	}
	p := &nodePatch{ops: ops, knows: slices.Contains(q.list("knows"), "requires"), roots: roots(ops), reset: reset != nil && *reset, minor: q.minor, ident: c.Param("node")}
	if err := nodeAttributes.patchable(ops, p.minor); err != nil {
		return nil, err
	}
	for _, op := range ops {
		if name, ok := op.value.(string); op.path == "/name" && ok {
			if err := checkNodeName(name, p.minor, "Node "+clip(p.ident)+": Cannot change name to invalid name '%s'"); err != nil {
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
func (p *nodePatch) parent() string {
	parent := ""
	for _, op := range p.ops {
		if op.path == "/parent_node" {
			parent, _ = op.value.(string)
		}
	}
	return canonicalUUID(parent)
}

// onlyFreesInstance is the one change that maintenance allows at any time.
func (p *nodePatch) onlyFreesInstance() bool {
	return len(p.ops) == 1 && p.ops[0].op == "remove" && p.ops[0].path == "/instance_uuid"
}

// patch edits a node whose row is locked, and gives the secrets that change.
func (s *Server) patch(p *nodePatch, n *node.Node) (node.Secrets, error) {
	before := *n
	before.Interfaces = copyStrings(n.Interfaces)
	rules := admission.PatchRequest{
		Roots: p.roots, RemovesOnlyInstanceUUID: p.onlyFreesInstance(), Minor: p.minor, Reservation: p.fleet.reservation(n),
		Orphaned: p.fleet.orphaned(n),
	}
	if err := admission.Patch(&before, &before, rules); err != nil {
		return nil, err // the wrong moment is told before what is wrong with the change
	}
	n.Interfaces = copyStrings(n.Interfaces)
	if err := nodeAttributes.apply(p.ops, &view{Node: &before, minor: MaxMinor, fleet: p.fleet}, n); err != nil {
		return nil, err
	}
	if err := admission.Patch(&before, n, rules); err != nil {
		return nil, err
	}
	if err := s.settle(p, &before, n); err != nil {
		return nil, err
	}
	return maskNode(&before, n)
}

// settle are the rules over the whole node, and what follows from a change.
func (s *Server) settle(p *nodePatch, before, n *node.Node) error {
	if before.ChassisUUID != "" && n.ChassisUUID == "" && p.minor < 25 {
		return tooNew(25)
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
		for _, i := range interfaceKinds {
			if !p.touches(i.name + "_interface") {
				delete(n.Interfaces, i.name)
			}
		}
	}
	return s.resolve(p.fleet, n)
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
