package httpd

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
)

// Route is one line of the table of the API.
type Route struct {
	Method, Path string // Path has gin's parameters: /v1/nodes/:node
	since        int    // the microversion that added it; 0 = not versioned
	handler      Handler
	stream       StreamHandler
	open         bool
	secret       bool
	audience     Audience // 0 = Clients
	unaudited    bool
	rule         *access.Rule
	either       *access.Rule // which also suffices
}

// Get is a route of the microversion 1.since; 0 = it is not versioned.
func Get(path string, since int, h Handler) Route {
	return Route{Method: http.MethodGet, Path: path, since: since, handler: h}
}

// Post is a route, as Get.
func Post(path string, since int, h Handler) Route {
	return Route{Method: http.MethodPost, Path: path, since: since, handler: h}
}

// Put is a route, as Get.
func Put(path string, since int, h Handler) Route {
	return Route{Method: http.MethodPut, Path: path, since: since, handler: h}
}

// Patch is a route, as Get.
func Patch(path string, since int, h Handler) Route {
	return Route{Method: http.MethodPatch, Path: path, since: since, handler: h}
}

// Delete is a route, as Get.
func Delete(path string, since int, h Handler) Route {
	return Route{Method: http.MethodDelete, Path: path, since: since, handler: h}
}

// GetStream is a route that answers with a stream. It is not versioned.
func GetStream(path string, h StreamHandler) Route {
	return Route{Method: http.MethodGet, Path: path, stream: h}
}

// Open is the route for everybody: it needs no login.
func (r Route) Open() Route {
	r.open = true
	return r
}

// Needs is the route for whom the rule allows it. Each route that is not open has one.
func (r Route) Needs(rule *access.Rule) Route {
	r.rule = rule
	return r
}

// Or is the route also for whom another rule allows it; nil = there is none.
func (r Route) Or(rule *access.Rule) Route {
	r.either = rule
	return r
}

// Rule is the rule of the route; nil if it is open.
func (r Route) Rule() *access.Rule { return r.rule }

// Rules are the rules of which one must allow the request; none if the route is open.
func (r Route) Rules() []*access.Rule {
	switch {
	case r.rule == nil:
		return nil
	case r.either == nil:
		return []*access.Rule{r.rule}
	}
	return []*access.Rule{r.rule, r.either}
}

// For is the route for an audience. Without it a route is for Clients.
func (r Route) For(a Audience) Route {
	r.audience = a
	return r
}

// Secret is the route with an answer that no web page of another origin may read,
// not even by a GET, which are let in elsewhere.
func (r Route) Secret() Route {
	r.secret = true
	return r
}

// NotFound answers a path that is not there.
func NotFound(*gin.Context) (int, any, error) {
	return 0, nil, fault.New(fault.NotFound, "The resource could not be found.")
}

// MethodNotAllowed answers a method that a path does not have.
func MethodNotAllowed(*gin.Context) (int, any, error) {
	return http.StatusMethodNotAllowed, format.ErrorBody("Client", "The method is not allowed for this resource.", fault.MethodNotAllowed, nil), nil
}
