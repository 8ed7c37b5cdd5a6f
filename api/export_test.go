package api

import (
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
)

// Routes returns the routes of the table, for the test that compares them with
// openapi.yaml.
func (s *Server) Routes() (out [][2]string) {
	for _, r := range s.http.Routes() {
		out = append(out, [2]string{r.Method, r.Path})
	}
	return out
}

// RouteRules is the table of routes with their rules.
func (s *Server) RouteRules() (out []struct {
	Method, Path string
	Rules        []*access.Rule
},
) {
	for _, r := range s.http.Routes() {
		out = append(out, struct {
			Method, Path string
			Rules        []*access.Rule
		}{r.Method, r.Path, r.Rules()})
	}
	return out
}

// CheckRoutes makes a server with one route, which needs the rule or one of the others.
func CheckRoutes(path string, rule *access.Rule, or ...*access.Rule) error {
	r := httpd.Get(path, 0, httpd.NotFound).Needs(rule)
	for _, o := range or {
		r = r.Or(o)
	}
	_, err := httpd.New(httpd.Config{}, []httpd.Route{r})
	return err
}
