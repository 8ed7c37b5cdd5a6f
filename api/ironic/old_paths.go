package ironic

import (
	"net/url"
	"slices"
	"strings"
)

// Ironic lets the word of a resource below a node come before the node (/v1/nodes/states/NODE/power), and the node be a parameter
// of the query (/v1/nodes/validate?node_uuid=NODE). No node has one of the words as its name (node.ReservedNames).

// oldPaths are the resources that have such paths, with the words that may follow them.
var oldPaths = map[string][]string{
	"maintenance":     {},
	"management":      {"boot_device", "supported", "indicators", "inject_nmi"},
	"states":          {"boot_mode", "console", "power", "provision", "raid", "secure_boot"},
	"validate":        {},
	"vendor_passthru": {"methods"},
}

// nodeParameters are the parameters that name the node of such a path.
var nodeParameters = []string{"node_ident", "node", "node_uuid"}

// CurrentURL returns u with the node where it is today, if u has one of the old paths; otherwise it returns u.
func CurrentURL(u *url.URL) *url.URL {
	rest, ok := strings.CutPrefix(u.Path, "/v1/nodes/")
	if !ok {
		return u
	}
	segments := strings.Split(rest, "/")
	words, ok := oldPaths[segments[0]]
	if !ok {
		return u
	}
	current, query, node := *u, u.Query(), ""
	at := 1 + slices.IndexFunc(segments[1:], func(s string) bool { return !slices.Contains(words, s) })
	if at > 0 {
		node = segments[at]
		segments = slices.Delete(segments, at, at+1)
	} else {
		for _, name := range nodeParameters {
			if node == "" {
				node = query.Get(name)
			}
			query.Del(name)
		}
		current.RawQuery = query.Encode()
	}
	if node == "" || strings.Contains(node, "/") {
		return u
	}
	current.Path, current.RawPath = "/v1/nodes/"+node+"/"+strings.Join(segments, "/"), ""
	return &current
}
