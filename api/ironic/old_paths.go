package ironic

import (
	"net/url"
	"slices"
	"strings"
)

// Ironic also takes paths in which the name of a node's resource comes before the node (/v1/nodes/states/NODE/power), or in which the
// node is a query parameter (/v1/nodes/validate?node_uuid=NODE). No node can have such a name (node.ReservedNames).

// oldPaths are the resources that have such paths, with the segments that may follow them.
var oldPaths = map[string][]string{
	"maintenance":     {},
	"management":      {"boot_device", "supported", "indicators", "inject_nmi"},
	"states":          {"boot_mode", "console", "power", "provision", "raid", "secure_boot"},
	"validate":        {},
	"vendor_passthru": {"methods"},
}

// nodeParameters are the parameters that name the node of such a path.
var nodeParameters = []string{"node_ident", "node", "node_uuid"}

// CurrentURL returns the URL of today for u if u has an old path; otherwise it returns u.
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
