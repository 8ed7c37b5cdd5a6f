package node

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// MaxDepth is how deep dictionaries of a request may nest (Ironic's JSON limit).
const MaxDepth = 25

// secretParts: a key that has one of these in it, in any case, names a secret.
// oslo.utils' list (strutils), and what hardware drivers and image servers add.
var secretParts = []string{
	"password", "passwd", "passphrase", "pswd", "adminpass", "admin_pass", "new_pass", "chappass",
	"secret", "token", "credential", "cookie",
	"private_key", "priv_key", "auth_key", "kg_key", "encrypted_key", "encryption_key", "api_key", "apikey", "sslkey", "fernetkey",
	"ssh_key_contents", "authorization", "configdrive", "config_drive",
}

// secretKeys are whole keys that Ironic masks besides (api, node_sanitize).
var secretKeys = []string{"image_url"}

// IsSecretKey reports whether a value under this key is masked and sealed.
func IsSecretKey(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	return slices.Contains(secretKeys, key) || slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(key, p) })
}

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
		} else if v != Masked {
			ok = false // Masked inside of a dictionary that is secret as a whole: it was never shown in parts
		}
		if !ok {
			return nil, nil, fault.New(fault.Invalid, "%s holds %q, which stands for a secret that was not given: give it anew", text.Cut(path), Masked)
		}
		secrets[path] = old
	}
	return shown, secrets, nil
}

// Unmask puts the secrets back. shown is not changed.
func Unmask(shown, secrets map[string]any) map[string]any {
	out := deepCopy(shown).(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(secrets)) {
		put(out, strings.Split(path, "/")[1:], deepCopy(secrets[path]))
	}
	return out
}

func maskMap(m map[string]any, path string, depth int, secrets map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		at := path + "/" + escape(k)
		switch {
		case IsSecretKey(k) || depth > MaxDepth || k == "value" && namesSecret(m["name"]):
			out[k] = seal(v, at, secrets)
		default:
			out[k] = maskAny(v, at, depth+1, secrets)
		}
	}
	return out
}

// namesSecret is for lists of {"name": N, "value": V}, as BIOS settings are written.
func namesSecret(name any) bool {
	s, ok := name.(string)
	return ok && IsSecretKey(s)
}

func maskAny(v any, path string, depth int, secrets map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		return maskMap(v, path, depth, secrets)
	case []any:
		inside := map[string]any{}
		out := make([]any, len(v))
		for i, e := range v {
			if depth > MaxDepth {
				out[i] = seal(e, path+"/"+strconv.Itoa(i), inside)
				continue
			}
			out[i] = maskAny(e, path+"/"+strconv.Itoa(i), depth+1, inside)
		}
		if len(inside) > 0 {
			secrets[path] = deepCopy(v)
		}
		return out
	}
	return v
}

func seal(v any, path string, secrets map[string]any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		if v == "" {
			return v
		}
	}
	secrets[path] = deepCopy(v)
	return Masked
}

// hasMasked reports whether Masked stands anywhere in v.
func hasMasked(v any) bool {
	switch v := v.(type) {
	case string:
		return v == Masked
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

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = deepCopy(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = deepCopy(e)
		}
		return out
	}
	return v
}

func escape(k string) string {
	return strings.ReplaceAll(strings.ReplaceAll(k, "~", "~0"), "/", "~1")
}

func unescape(k string) string {
	return strings.ReplaceAll(strings.ReplaceAll(k, "~1", "/"), "~0", "~")
}

// depth is how deep v nests; a scalar is 0.
func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
