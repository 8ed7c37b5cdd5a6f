package intent

import (
	"reflect"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// secretDicts are the dictionaries of a node that may hold secrets; the name is
// the first part of a sealed value's.
var secretDicts = []struct {
	name string
	at   func(*node.Node) *map[string]any
}{
	{"driver_info", func(n *node.Node) *map[string]any { return &n.DriverInfo }},
	{"instance_info", func(n *node.Node) *map[string]any { return &n.InstanceInfo }},
}

// MaskNode replaces n's secrets with the mask and returns them for sealing; a nil secret
// is to be deleted. before is the node as it was, nil for a new one. Where n has the mask
// that before had, the sealed value stays.
func MaskNode(before, n *node.Node) (node.Secrets, error) {
	changed := node.Secrets{}
	for _, d := range secretDicts {
		known := map[string]any{}
		if before != nil {
			// The mask is what a client sees; under each path it stands for itself.
			_, known = secret.Mask(*d.at(before))
		}
		shown, secrets, err := secret.Remask(*d.at(n), known)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s%w", d.name, err)
		}
		for path, v := range secrets {
			if old, ok := known[path]; !ok || !reflect.DeepEqual(old, v) {
				changed[d.name+path] = v
			}
		}
		for path := range known {
			if _, stays := secrets[path]; !stays {
				changed[d.name+path] = nil
			}
		}
		*d.at(n) = shown
	}
	return changed, nil
}

// MaskDict replaces the secrets in m with the mask and returns them, by JSON pointer. Where m has the mask, the secret of known stays;
// name is that of the field, for errors.
func MaskDict(name string, m, known map[string]any) (shown, secrets map[string]any, err error) {
	shown, secrets, err = secret.Remask(m, known)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "%s%w", name, err)
	}
	return shown, secrets, nil
}
