package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
)

// No vendor interface has methods. The answers are those of Ironic's vendor interface no-vendor.

// passthruRoutes are the routes of vendor_passthru, which take every HTTP method that Ironic does.
func passthruRoutes(path string, call httpd.Handler) []httpd.Route {
	return []httpd.Route{
		httpd.Get(path, 1, call), httpd.Post(path, 1, call), httpd.Put(path, 1, call), httpd.Patch(path, 1, call), httpd.Delete(path, 1, call),
	}
}

func (s *Server) vendorRoutes() []httpd.Route {
	const ofNode, ofDriver = "/v1/nodes/:node/vendor_passthru", "/v1/drivers/:driver/vendor_passthru"
	out := []httpd.Route{httpd.Get(ofNode+"/methods", 1, s.listNodeMethods), httpd.Get(ofDriver+"/methods", 1, s.listDriverMethods)}
	out = append(out, passthruRoutes(ofNode, s.callNodeMethod)...)
	return append(out, passthruRoutes(ofDriver, s.callDriverMethod)...)
}

// listNodeMethods answers GET /v1/nodes/X/vendor_passthru/methods.
func (s *Server) listNodeMethods(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{}, nil
}

// callNodeMethod answers every request to /v1/nodes/X/vendor_passthru.
func (s *Server) callNodeMethod(c *gin.Context) (int, any, error) {
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err != nil {
		return 0, nil, err
	}
	return 0, nil, noMethod(c)
}

// listDriverMethods answers GET /v1/drivers/X/vendor_passthru/methods.
func (s *Server) listDriverMethods(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	if _, err := s.driver(c); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{}, nil
}

// callDriverMethod answers every request to /v1/drivers/X/vendor_passthru.
func (s *Server) callDriverMethod(c *gin.Context) (int, any, error) {
	if _, err := s.driver(c); err != nil {
		return 0, nil, err
	}
	return 0, nil, noMethod(c)
}

// noMethod is Ironic's error for a method that the vendor interface does not have.
func noMethod(c *gin.Context) error {
	method := c.Query("method")
	if method == "" {
		return fault.New(fault.Invalid, "Method not specified")
	}
	return fault.Coded(fault.NotSupported, "No handler for method %s", format.Clip(method))
}
