package ironic

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// patchPort answers PATCH /v1/ports/X.
func (s *Server) patchPort(c *gin.Context) (int, any, error) {
	ops, err := format.ReadPatch(c)
	if err != nil {
		return 0, nil, err
	}
	if err := portAttributes.Patchable(ops, format.Minor(c)); err != nil {
		return 0, nil, err
	}
	ident, err := portIdent(c)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	port, err := s.Store.Port(ctx, ident)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	wanted := *port
	if err := portAttributes.Apply(ops, port, &wanted); err != nil {
		return 0, nil, err
	}
	if wanted.PortgroupUUID != port.PortgroupUUID || wanted.PhysicalNetwork != port.PhysicalNetwork || wanted.NodeUUID != port.NodeUUID {
		if err := s.permitMove(c, port.NodeUUID, wanted.NodeUUID, access.PortCreate); err != nil {
			return 0, nil, err
		}
		if err := s.checkMember(c, &wanted); err != nil {
			return 0, nil, err
		}
	}
	err = s.InTurn(ctx, fl, func(t *lockwait.Turn) error {
		changed, err := s.Store.UpdatePort(ctx, port.UUID, port.NodeUUID, func(n *node.Node, p *node.Port) error {
			before := *p
			if err := portAttributes.Apply(ops, &before, p); err != nil {
				return err
			}
			if err := checkPort(&before, p, format.Minor(c)); err != nil {
				return err
			}
			return s.Admit(t, n, func(n *node.Node) error {
				return portChangeAllowed(n, &before, p, format.Minor(c), fl.Reservation(n))
			})
		})
		if err == nil {
			port = changed
		}
		return err
	})
	if err != nil {
		return 0, nil, format.NotFoundIsInvalid(err)
	}
	return http.StatusOK, s.portBody(c, port, portAttributes.UpTo(format.Minor(c))), nil
}

// connectable are the states in which a port's place in the network may change
// (Ironic conductor/manager.py, update_port).
var connectable = []node.State{node.Enroll, node.Inspecting, node.InspectWait, node.Manageable}

// portChangeAllowed are Ironic's rules for changing a port of n; held is the
// node's reservation as clients see it.
func portChangeAllowed(n *node.Node, before, after *node.Port, minor int, held string) error {
	switch {
	case n.ProvisionState == node.Inspecting && minor >= 39:
		return fault.New(fault.Conflict, "Cannot update port \"%s\" on \"%s\" while it is in state \"%s\".", after.UUID, n.UUID, n.ProvisionState)
	case held != "" && (before.Address != after.Address || before.NodeUUID != after.NodeUUID || !sameConnectivity(before, after)):
		return node.Locked(n, held)
	case n.Maintenance:
		return nil
	case before.Address != after.Address && (n.ProvisionState == node.Active || n.InstanceUUID != ""):
		return fault.New(fault.Conflict, "Cannot update hardware address for port %s as node %s is active or has instance UUID assigned", after.UUID, n.UUID)
	case !sameConnectivity(before, after) && !slices.Contains(connectable, n.ProvisionState):
		return fault.New(fault.Conflict, "Port %s can not have any connectivity attributes (pxe_enabled, portgroup_id, physical_network, local_link_connection) updated unless node %s is in a enroll, inspecting, inspect wait, manageable state or in maintenance mode. The current state is %s.",
			after.UUID, n.UUID, n.ProvisionState)
	}
	return nil
}

// sameConnectivity compares two ports' places in the network.
func sameConnectivity(a, b *node.Port) bool {
	return a.PXEEnabled == b.PXEEnabled && a.PhysicalNetwork == b.PhysicalNetwork && a.PortgroupUUID == b.PortgroupUUID &&
		reflect.DeepEqual(format.Dict(a.LocalLinkConnection), format.Dict(b.LocalLinkConnection))
}
