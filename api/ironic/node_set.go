package ironic

import (
	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// nodeSet makes the setters of nodes.
var nodeSet = format.Setters[node.Node]{Resource: "node"}

// setChassis: chassis are not built, so none can be named.
func setChassis(n *node.Node, v any) error {
	if v != nil && v != "" {
		return fault.New(fault.Invalid, "Chassis %s could not be found.", format.Describe(v))
	}
	n.ChassisUUID = ""
	return nil
}

func setUUID(n *node.Node, v any) error {
	if v == nil {
		return nil
	}
	return nodeSet.UUID("uuid", func(n *node.Node) *string { return &n.UUID })(n, v)
}

func setDriver(n *node.Node, v any) error {
	s, ok := v.(string)
	if !ok || s == "" || len(s) > 255 {
		return nodeSet.WrongType("driver", "'string'", v)
	}
	n.Driver = s
	return nil
}

// interfaceField sets one interface; null asks for the driver's default.
func interfaceField(kind string) func(*node.Node, any) error {
	return func(n *node.Node, v any) error {
		s, ok := v.(string)
		if !ok && v != nil || len(s) > 255 {
			return nodeSet.WrongType(kind+"_interface", "'string', 'null'", v)
		}
		if n.Interfaces == nil {
			n.Interfaces = map[string]string{}
		}
		if s == "" {
			delete(n.Interfaces, kind)
			return nil
		}
		n.Interfaces[kind] = s
		return nil
	}
}

// setConductorGroup lowers the case: groups are compared without it.
func setConductorGroup(n *node.Node, v any) error {
	s, ok := v.(string)
	if !ok && v != nil {
		return nodeSet.WrongType("conductor_group", "'string', 'null'", v)
	}
	group, err := node.ValidConductorGroup(s)
	n.ConductorGroup = group
	return err
}
