package httpd

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.temper.dev/temper/api/format"
)

// tidyPath does what Ironic does before routing, to the paths of its API and to no
// others: a missing version prefix is put in (/nodes = /v1/nodes), one trailing slash
// is dropped, and ".json" is stripped from the end below version 1.91
// (controllers/root.py, middleware/json_ext.py). The prefix is put in for the
// resources in unversioned only; every other path is left to whoever serves it.
// At the end current, if it is not nil, replaces the URL of a path that has moved.
func tidyPath(next http.Handler, unversioned []string, current func(*url.URL) *url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ctx := r.URL.Path, r.Context()
		if !strings.HasPrefix(path, "/") { // OPTIONS *
			path = "/" + path
		}
		first, _, _ := strings.Cut(path[1:], "/")
		switch {
		case slices.Contains(unversioned, strings.TrimSuffix(first, ".json")):
			path = strings.TrimSuffix("/v1"+path, "/")
		case first == "v1", first == "temper":
			path = strings.TrimSuffix(path, "/")
		}
		if rest, ok := strings.CutSuffix(path, ".json"); ok && strings.HasPrefix(path, "/v1/") {
			if v, err := format.Negotiate(r.Header); err == nil && v < 91 {
				path = rest
				ctx = format.WithJSONSuffix(ctx)
			}
		}
		if path != r.URL.Path {
			r = r.WithContext(ctx)
			u := *r.URL
			u.Path, u.RawPath = path, ""
			r.URL = &u
		}
		if current != nil {
			if u := current(r.URL); u != r.URL {
				r = r.WithContext(r.Context())
				r.URL = u
			}
		}
		next.ServeHTTP(w, r)
	})
}
