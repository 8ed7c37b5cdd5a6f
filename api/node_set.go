package api

import (
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The setters turn a JSON value into a field of a node. null and "removed"
// are the same: the field's empty value.

func wrongType(name, want string, v any) error {
	return fault.New(fault.Invalid, "Schema error for node: %s: %s is not of type %s", name, describe(v), want)
}

func textField(name string, limit int, at func(*node.Node) *string) setter {
	return func(n *node.Node, v any) error {
		s, ok := v.(string)
		switch {
		case !ok && v != nil:
			return wrongType(name, "'string', 'null'", v)
		case len([]rune(s)) > limit:
			return fault.New(fault.Invalid, "Schema error for node: %s: '%s' is too long, at most %d characters are allowed", name, clip(s), limit)
		case strings.ContainsRune(s, 0):
			return fault.New(fault.Invalid, "Schema error for node: %s holds a NUL character", name)
		}
		*at(n) = s
		return nil
	}
}

func uuidField(name string, at func(*node.Node) *string) setter {
	return func(n *node.Node, v any) error {
		s, ok := v.(string)
		switch {
		case !ok && v != nil:
			return wrongType(name, "'string', 'null'", v)
		case v != nil && !isUUID(s):
			return fault.New(fault.Invalid, "Expected UUID for %s: %s", name, clip(s))
		}
		*at(n) = canonicalUUID(s)
		return nil
	}
}

// setChassis: chassis are not built, so none can be named.
func setChassis(n *node.Node, v any) error {
	if v != nil && v != "" {
		return fault.New(fault.Invalid, "Chassis %s could not be found.", describe(v))
	}
	n.ChassisUUID = ""
	return nil
}

func setUUID(n *node.Node, v any) error {
	if v == nil {
		return nil
	}
	return uuidField("uuid", func(n *node.Node) *string { return &n.UUID })(n, v)
}

func boolField(name string, at func(*node.Node) *bool) setter {
	return func(n *node.Node, v any) error {
		if v == nil {
			*at(n) = false
			return nil
		}
		b, err := asBool(name, v)
		*at(n) = b
		return err
	}
}

func nullBoolField(name string, at func(*node.Node) **bool) setter {
	return func(n *node.Node, v any) error {
		if v == nil {
			*at(n) = nil
			return nil
		}
		b, err := asBool(name, v)
		*at(n) = &b
		return err
	}
}

func dictField(name string, at func(*node.Node) *map[string]any) setter {
	return func(n *node.Node, v any) error {
		m, ok := v.(map[string]any)
		if !ok && v != nil {
			return wrongType(name, "'object', 'null'", v)
		}
		if m == nil {
			m = map[string]any{}
		}
		if hasNUL(m) {
			return fault.New(fault.Invalid, "Schema error for node: %s holds a NUL character", name)
		}
		*at(n) = m
		return nil
	}
}

// hasNUL looks for what PostgreSQL can't store in a text.
func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, one := range v {
			if hasNUL(one) {
				return true
			}
		}
	case map[string]any:
		for k, one := range v {
			if strings.ContainsRune(k, 0) || hasNUL(one) {
				return true
			}
		}
	}
	return false
}

func setDriver(n *node.Node, v any) error {
	s, ok := v.(string)
	if !ok || s == "" || len(s) > 255 {
		return wrongType("driver", "'string'", v)
	}
	n.Driver = s
	return nil
}

// interfaceField sets one interface; null asks for the driver's default.
func interfaceField(kind string) setter {
	return func(n *node.Node, v any) error {
		s, ok := v.(string)
		if !ok && v != nil || len(s) > 255 {
			return wrongType(kind+"_interface", "'string', 'null'", v)
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
		return wrongType("conductor_group", "'string', 'null'", v)
	}
	group, err := node.ValidConductorGroup(s)
	n.ConductorGroup = group
	return err
}
