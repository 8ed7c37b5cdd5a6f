package ironic

import (
	"math/big"
	"strings"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// nodeSet makes the setters of nodes.
var nodeSet = format.Setters[node.Node]{Resource: "node"}

// setChassis takes "" for none. Whether there is such a chassis is checked by checkChassis.
func setChassis(n *node.Node, v any) error {
	if v == "" {
		v = nil
	}
	return nodeSet.UUID("chassis_uuid", func(n *node.Node) *string { return &n.ChassisUUID })(n, v)
}

// setProperties: the sizes that schedulers read must be numbers (Ironic objects/node.py).
func setProperties(n *node.Node, v any) error {
	if err := nodeSet.Dict("properties", func(n *node.Node) *map[string]any { return &n.Properties })(n, v); err != nil {
		return err
	}
	var wrong []string
	for _, name := range []string{"local_gb", "cpus", "memory_mb"} {
		if size := n.Properties[name]; size != nil && !isSize(size) {
			wrong = append(wrong, name+"="+format.Describe(size))
		}
	}
	if len(wrong) > 0 {
		return fault.New(fault.Invalid, "The following properties for node %s should be non-negative integers, but provided values are: %s",
			n.UUID, strings.Join(wrong, ", "))
	}
	return nil
}

// isSize reports whether v is a number, or the digits of one, that is not negative. Ironic cuts fractions off.
func isSize(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case string:
		i, ok := new(big.Int).SetString(strings.TrimPrefix(strings.TrimSpace(v), "+"), 10)
		return ok && i.Sign() >= 0
	}
	size, ok := jsonvalue.Float(v)
	return ok && size >= 0
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
