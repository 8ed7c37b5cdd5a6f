// Package secret says which values of a node and of a step's arguments are secret, masks
// them, and says where each secret may be sent.
package secret

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Mask splits a dictionary into one that may be shown, with Masked in place of
// every secret, and the secrets by JSON pointer (RFC 6901). Empty values and
// booleans are no secrets. A list that has a secret anywhere in it is sealed as
// a whole: its elements have no name that would survive an edit. What lies
// deeper than MaxDepth is masked whole. m is not changed.
func Mask(m map[string]any) (shown, secrets map[string]any) {
	secrets = map[string]any{}
	return maskMap(m, "", 1, secrets), secrets
}

// Remask is Mask for a dictionary that a client edited after it was shown:
// where Masked still stands, the known secret stays.
// fault.Invalid where a list was edited and not all of its secrets were given
// anew, or where Masked stands for a secret that nobody knows.
func Remask(m, known map[string]any) (shown, secrets map[string]any, err error) {
	shown, secrets = Mask(m)
	for path, v := range secrets {
		if !hasMasked(v) {
			continue
		}
		old, ok := known[path]
		if list, isList := v.([]any); ok && isList {
			ok = reflect.DeepEqual(list, maskAny(old, path, pathDepth(path), map[string]any{}))
		} else if v != mask.Masked {
			ok = false // Masked inside of a dictionary that is secret as a whole: it was never shown in parts
		}
		if !ok {
			return nil, nil, fault.New(fault.Invalid, "%s holds %q, which stands for a secret that was not given: give it anew", text.Cut(path), mask.Masked)
		}
		secrets[path] = old
	}
	return shown, secrets, nil
}

// Unmask puts the secrets back. shown is not changed.
func Unmask(shown, secrets map[string]any) map[string]any {
	out := node.CloneJSON(shown).(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(secrets)) {
		put(out, strings.Split(path, "/")[1:], node.CloneJSON(secrets[path]))
	}
	return out
}

// Under returns those of the secrets that lie under key, by JSON pointers that begin there.
func Under(secrets map[string]any, key string) map[string]any {
	out := map[string]any{}
	prefix := "/" + escape(key)
	for path, v := range secrets {
		if rest, ok := strings.CutPrefix(path, prefix); ok && strings.HasPrefix(rest, "/") {
			out[rest] = v
		}
	}
	return out
}

// AddUnder adds secrets to all, as those that lie under key.
func AddUnder(all map[string]any, key string, secrets map[string]any) {
	for path, v := range secrets {
		all["/"+escape(key)+path] = v
	}
}

func maskMap(m map[string]any, path string, depth int, secrets map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		at := path + "/" + escape(k)
		switch {
		case mask.IsSecretKey(k) || depth > node.MaxDepth || k == "value" && namesSecret(m["name"]):
			out[k] = maskValue(v, at, secrets)
		default:
			out[k] = maskAny(v, at, depth+1, secrets)
		}
	}
	return out
}

// namesSecret is for lists of {"name": N, "value": V}, as BIOS settings are written.
func namesSecret(name any) bool {
	s, ok := name.(string)
	return ok && mask.IsSecretKey(s)
}

func maskAny(v any, path string, depth int, secrets map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		return maskMap(v, path, depth, secrets)
	case []any:
		inside := map[string]any{}
		out := make([]any, len(v))
		for i, e := range v {
			if depth > node.MaxDepth {
				out[i] = maskValue(e, path+"/"+strconv.Itoa(i), inside)
				continue
			}
			out[i] = maskAny(e, path+"/"+strconv.Itoa(i), depth+1, inside)
		}
		if len(inside) > 0 {
			secrets[path] = node.CloneJSON(v)
		}
		return out
	}
	return v
}

func maskValue(v any, path string, secrets map[string]any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		if v == "" {
			return v
		}
	}
	secrets[path] = node.CloneJSON(v)
	return mask.Masked
}

// hasMasked reports whether Masked stands anywhere in v.
func hasMasked(v any) bool {
	switch v := v.(type) {
	case string:
		return v == mask.Masked
	case []any:
		return slices.ContainsFunc(v, hasMasked)
	case map[string]any:
		for _, e := range v {
			if hasMasked(e) {
				return true
			}
		}
	}
	return false
}

func pathDepth(path string) int { return strings.Count(path, "/") + 1 }

func put(m map[string]any, keys []string, v any) {
	k := unescape(keys[0])
	if len(keys) == 1 {
		m[k] = v
		return
	}
	if next, ok := m[k].(map[string]any); ok {
		put(next, keys[1:], v)
	}
}

func escape(k string) string {
	return strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
}

func unescape(k string) string {
	return strings.ReplaceAll(strings.ReplaceAll(k, "~1", "/"), "~0", "~")
}

// DriverInfo returns driver_info of n with its secrets, of which sealed has the opened ones by name.
func DriverInfo(n *node.Node, sealed node.Secrets) map[string]any {
	return Unmask(n.DriverInfo, within(inDriverInfo, sealed))
}

// InstanceInfo returns instance_info of n with its secrets, of which sealed has the opened ones by name.
func InstanceInfo(n *node.Node, sealed node.Secrets) map[string]any {
	return Unmask(n.InstanceInfo, within(inInstanceInfo, sealed))
}

// within returns the secrets of one dictionary by JSON pointer.
func within(dict string, sealed node.Secrets) map[string]any {
	out := map[string]any{}
	for name, v := range sealed {
		if path, ok := strings.CutPrefix(name, dict); ok && strings.HasPrefix(path, "/") {
			out[path] = v
		}
	}
	return out
}
