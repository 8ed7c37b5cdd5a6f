package api

import (
	"context"
	"net/http"
	"strings"
)

type suffixKey struct{}

// ownRoots are the first path segments that do not get Ironic's missing version prefix.
var ownRoots = map[string]bool{"": true, "v1": true, "temper": true}

// tidyPath does what Ironic does before routing: a missing version prefix is
// put in (/nodes = /v1/nodes), one trailing slash is dropped, and ".json" is
// stripped from the end below version 1.91 (controllers/root.py, middleware/json_ext.py).
func tidyPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if len(path) > 1 {
			path = strings.TrimSuffix(path, "/")
		}
		if !strings.HasPrefix(path, "/") { // OPTIONS *
			path = "/" + path
		}
		if first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); !ownRoots[first] {
			path = "/v1" + path
		}
		ctx := r.Context()
		if rest, ok := strings.CutSuffix(path, ".json"); ok && strings.HasPrefix(path, "/v1/") {
			if v, err := negotiate(r.Header); err == nil && v < 91 {
				path = rest
				ctx = context.WithValue(ctx, suffixKey{}, true)
			}
		}
		if path != r.URL.Path {
			r = r.WithContext(ctx)
			u := *r.URL
			u.Path, u.RawPath = path, ""
			r.URL = &u
		}
		next.ServeHTTP(w, r)
	})
}

// hadJSONSuffix reports whether tidyPath took ".json" from the end of the path;
// a resource whose name ends so is looked for with it when it is not found without.
func hadJSONSuffix(ctx context.Context) bool {
	had, _ := ctx.Value(suffixKey{}).(bool)
	return had
}
