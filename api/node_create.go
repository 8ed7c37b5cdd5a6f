package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// createNode answers POST /v1/nodes.
func (s *Server) createNode(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, nodeAttributes.creatable()...)
	if err != nil {
		return 0, nil, err
	}
	n, err := s.newNode(c, in)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	if err := s.checkParent(ctx, n.ParentNode); err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := s.resolve(fl, n); err != nil {
		return 0, nil, err
	}
	secrets, err := maskNode(nil, n)
	if err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateNode(ctx, n, secrets, user(c)); err != nil {
		return 0, nil, err
	}
	logger(c).Info("node created", zap.String("node", n.UUID), zap.String("name", n.Name), zap.String("driver", n.Driver))
	located(c, "nodes/"+n.UUID)
	return http.StatusCreated, s.render(c, s.viewOf(c, n, fl), nodeAttributes.upTo(minor(c)), true), nil
}

// newNode is the node that a POST describes.
func (s *Server) newNode(c *gin.Context, in *object) (*node.Node, error) {
	if !in.has("driver") {
		return nil, fault.New(fault.Invalid, "Schema error for node: 'driver' is a required property")
	}
	n := &node.Node{
		ProvisionState: node.Enroll, Interfaces: map[string]string{},
		DriverInfo: map[string]any{}, Properties: map[string]any{}, Extra: map[string]any{},
		InstanceInfo: map[string]any{}, NetworkData: map[string]any{},
	}
	if minor(c) < 11 {
		n.ProvisionState = node.Available
	}
	for i := range nodeAttributes {
		a := &nodeAttributes[i]
		v, given := in.fields[a.name]
		switch {
		case !given:
			continue
		case a.since > minor(c) && v != nil && v != "":
			return nil, tooNew(a.since)
		}
		if err := a.set(n, v); err != nil {
			return nil, err
		}
	}
	if n.UUID == "" {
		n.UUID = uuid.NewString()
	}
	return n, checkCreated(n, in, minor(c))
}

func checkCreated(n *node.Node, in *object, minor int) error {
	if name, ok := in.fields["name"].(string); ok {
		if err := checkNodeName(name, minor, "Cannot create node with invalid name '%s'"); err != nil {
			return err
		}
	}
	return admission.Patch(&node.Node{UUID: n.UUID, ProvisionState: n.ProvisionState}, n, admission.PatchRequest{Minor: minor})
}

// checkParent refuses a parent that is not there.
func (s *Server) checkParent(ctx context.Context, parent string) error {
	if parent == "" {
		return nil
	}
	_, err := s.Store.Node(ctx, parent)
	return notFoundIsInvalid(err)
}

// resolve fills in the interfaces of a node from what the conductors of its
// group have enabled, and refuses what nobody has.
func (s *Server) resolve(fl *fleet, n *node.Node) error {
	enabled, err := fl.enabled(n.ConductorGroup, n.Driver)
	if err != nil {
		return asBadRequest(err)
	}
	hw, ok := node.Hardware(n.Driver)
	if !ok {
		return fault.New(fault.Invalid, "Could not find the following driver(s) or hardware type(s): %s.", clip(n.Driver))
	}
	resolved, err := hw.Resolve(n.Interfaces, enabled)
	if err != nil {
		return err
	}
	n.Interfaces, err = fl.together(hw, n, resolved)
	return err
}

// together are interfaces that one conductor has all of: those that were found
// among all of the group or, where these are of different conductors, those of
// the first that has what n names. Nobody would cover the node otherwise.
func (f *fleet) together(hw node.HardwareType, n *node.Node, resolved map[string]string) (map[string]string, error) {
	var own map[string]string
	for _, c := range f.serving(n.ConductorGroup, n.Driver) {
		if c.Covers(n.ConductorGroup, n.Driver, resolved) {
			return resolved, nil
		}
		if alone, err := hw.Resolve(n.Interfaces, c.Interfaces[n.Driver]); err == nil && own == nil {
			own = alone
		}
	}
	if own == nil {
		return nil, asBadRequest(f.nobody(n.ConductorGroup, n.Driver))
	}
	return own, nil
}
