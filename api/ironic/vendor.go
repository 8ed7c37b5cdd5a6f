package ironic

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// passthruRoutes are the routes of vendor_passthru, which take every HTTP method that Ironic does.
func passthruRoutes(path string, call httpd.Handler, rule *access.Rule) []httpd.Route {
	out := []httpd.Route{
		httpd.Get(path, 1, call), httpd.Post(path, 1, call), httpd.Put(path, 1, call), httpd.Patch(path, 1, call), httpd.Delete(path, 1, call),
	}
	for i := range out {
		out[i] = out[i].Needs(rule)
	}
	return out
}

func (s *Server) vendorRoutes() []httpd.Route {
	const ofNode, ofDriver = "/v1/nodes/:node/vendor_passthru", "/v1/drivers/:driver/vendor_passthru"
	out := []httpd.Route{
		httpd.Get(ofNode+"/methods", 1, s.listNodeMethods).Needs(access.NodeVendorPassthru),
		httpd.Get(ofDriver+"/methods", 1, s.listDriverMethods).Needs(access.DriverVendorPassthru),
	}
	for _, method := range []string{"", "/:method"} { // python-ironicclient has the method in the path
		out = append(out, passthruRoutes(ofNode+method, s.callNodeMethod, access.NodeVendorPassthru)...)
		out = append(out, passthruRoutes(ofDriver+method, s.callDriverMethod, access.DriverVendorPassthru)...)
	}
	return out
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
	out := gin.H{}
	for _, m := range n.Implementation("vendor").Methods {
		out[m.Name] = gin.H{
			"http_methods": []string{m.HTTP}, "async": !m.Sync, "attach": false, "require_exclusive_lock": m.Reads == "", "description": m.About,
		}
	}
	return http.StatusOK, out, nil
}

// callNodeMethod answers every request to /v1/nodes/X/vendor_passthru.
func (s *Server) callNodeMethod(c *gin.Context) (int, any, error) {
	in, err := format.ReadOpenObject(c, format.MaxBody)
	if err != nil {
		return 0, nil, err
	}
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err != nil {
		return 0, nil, err
	}
	m, err := intent.VendorMethodOf(n, methodOf(c), c.Request.Method)
	switch {
	case err != nil:
		return 0, nil, err
	case m.Reads != "":
		return s.readVendor(c, m, in)
	}
	by := httpd.User(c)
	o, _, err := s.Submit(c, intent.Asked{Decide: func(n *node.Node, fl *intent.Fleet) (*node.Request, error) {
		return s.DecideVendor(n, fl, m.Name, in, by)
	}})
	if err != nil || !m.Sync {
		return http.StatusAccepted, nil, err
	}
	if o, err = s.Finish(c, o); err != nil {
		return 0, nil, err
	}
	if made := o.Steps[0].Subscription; made != nil {
		shown := *made
		shown.Destination = in.Text(node.ArgDestination)
		return http.StatusOK, shown, nil
	}
	return http.StatusOK, json.RawMessage("null"), nil // as Ironic answers nothing
}

// readVendor answers a method that reads something of the BMC.
func (s *Server) readVendor(c *gin.Context, m node.VendorMethod, in *format.Object) (int, any, error) {
	read, err := s.ReadVendor(c, m, in)
	if err != nil {
		return 0, nil, err
	}
	if read.Subscription != nil {
		return http.StatusOK, read.Subscription, nil
	}
	out := gin.H{"@odata.type": "#EventDestinationCollection.EventDestinationCollection", "Name": "Event Subscriptions"}
	members := []gin.H{}
	if all := read.Subscriptions; all != nil {
		out["@odata.id"] = all.Path
		for _, path := range all.Members {
			members = append(members, gin.H{"@odata.id": path})
		}
	}
	out["Members"], out["Members@odata.count"] = members, len(members)
	return http.StatusOK, out, nil
}

// methodOf returns the method that a request names in its path or in its query; "" = none.
func methodOf(c *gin.Context) string { return cmp.Or(c.Param("method"), c.Query("method")) }

// listDriverMethods answers GET /v1/drivers/X/vendor_passthru/methods. No driver has methods of its own, as in Ironic.
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
	_, err := intent.VendorMethodOf(&node.Node{}, methodOf(c), "")
	return 0, nil, err
}
