package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// createNode answers POST /v1/nodes.
func (s *Server) createNode(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, nodeAttributes.Creatable()...)
	if err != nil {
		return 0, nil, err
	}
	n, err := s.newNode(c, in)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	if n.Owner, err = httpd.OwnProject(c, access.NodeCreate.AllowsAll(httpd.IdentityOf(c)), access.NodeCreateOwn, n.Owner); err != nil {
		return 0, nil, err
	}
	if err := s.checkParent(c, n.ParentNode); err != nil {
		return 0, nil, err
	}
	if err := s.checkChassis(ctx, n.ChassisUUID); err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := s.resolve(fl, n); err != nil {
		return 0, nil, err
	}
	secrets, err := intent.MaskNode(nil, n)
	if err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateNode(ctx, n, secrets, httpd.User(c)); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("node created", zap.String("node", n.UUID), zap.String("name", n.Name), zap.String("driver", n.Driver))
	format.Located(c, "nodes/"+n.UUID)
	body, err := s.render(c, s.viewOf(c, n, fl), nodeAttributes.UpTo(format.Minor(c)), true)
	return http.StatusCreated, body, err
}

// newNode is the node that a POST describes.
func (s *Server) newNode(c *gin.Context, in *format.Object) (*node.Node, error) {
	if !in.Has("driver") {
		return nil, fault.New(fault.Invalid, "Schema error for node: 'driver' is a required property")
	}
	n := &node.Node{
		UUID: uuid.NewString(), ProvisionState: node.Enroll, Interfaces: map[string]string{},
		DriverInfo: map[string]any{}, Properties: map[string]any{}, Extra: map[string]any{},
		InstanceInfo: map[string]any{}, NetworkData: map[string]any{},
	}
	if format.Minor(c) < 11 {
		n.ProvisionState = node.Available
	}
	for i := range nodeAttributes {
		a := &nodeAttributes[i]
		v, given := in.Fields[a.Name]
		switch {
		case !given:
			continue
		case a.Since > format.Minor(c) && v != nil && v != "":
			return nil, format.TooNew(a.Since)
		}
		if err := a.Set(n, v); err != nil {
			return nil, err
		}
	}
	n.NameInstance(&node.Node{})
	return n, checkCreated(n, in, format.Minor(c))
}

func checkCreated(n *node.Node, in *format.Object, minor int) error {
	if name, ok := in.Fields["name"].(string); ok {
		if err := checkNodeName(name, minor, "Cannot create node with invalid name '%s'"); err != nil {
			return err
		}
	}
	return admission.Patch(&node.Node{UUID: n.UUID, ProvisionState: n.ProvisionState}, n, admission.PatchRequest{Minor: minor})
}

// checkParent refuses a parent that is not there.
func (s *Server) checkParent(c *gin.Context, parent string) error {
	if parent == "" {
		return nil
	}
	_, err := s.Visible(c, parent)
	return format.NotFoundIsInvalid(err)
}

// resolve fills in the interfaces of a node from what the conductors of its
// group have enabled, and refuses what nobody has.
func (s *Server) resolve(fl *intent.Fleet, n *node.Node) error {
	enabled, err := fl.Enabled(n.ConductorGroup, n.Driver)
	if err != nil {
		return intent.AsBadRequest(err)
	}
	hw, ok := node.Hardware(n.Driver)
	if !ok {
		return fault.New(fault.Invalid, "Could not find the following driver(s) or hardware type(s): %s.", format.Clip(n.Driver))
	}
	resolved, err := hw.Resolve(n.Interfaces, enabled)
	if err != nil {
		return err
	}
	n.Interfaces, err = together(fl, hw, n, resolved)
	return err
}

// together are interfaces that one conductor has all of: those that were found
// among all of the group or, where these are of different conductors, those of
// the first that has what n names. Nobody would cover the node otherwise.
func together(f *intent.Fleet, hw node.HardwareType, n *node.Node, resolved map[string]string) (map[string]string, error) {
	var own map[string]string
	for _, c := range f.Serving(n.ConductorGroup, n.Driver) {
		if c.Covers(n.ConductorGroup, n.Driver, resolved) {
			return resolved, nil
		}
		if alone, err := hw.Resolve(n.Interfaces, c.Interfaces[n.Driver]); err == nil && own == nil {
			own = alone
		}
	}
	if own == nil {
		return nil, intent.AsBadRequest(f.NoConductor(n.ConductorGroup, n.Driver))
	}
	return own, nil
}
