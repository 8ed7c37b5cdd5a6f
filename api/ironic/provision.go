package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/node"
)

var provisionParameters = append([]string{"target", "configdrive"}, node.VerbFieldNames(false)...)

// putProvision answers PUT /v1/nodes/X/states/provision.
func (s *Server) putProvision(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBodyProvision, provisionParameters...)
	if err != nil {
		return 0, nil, err
	}
	in.Require("target")
	p := &intent.Provision{Object: in, Verb: node.VerbOf(in.Text("target")), User: httpd.User(c), Minor: format.Minor(c), DisableRamdisk: in.Boolean("disable_ramdisk")}
	audit.Of(c.Request.Context()).Names(p.Verb.Target)
	if p.OnFailure, err = s.OnFailureOf(c); err != nil {
		return 0, nil, err
	}
	if p.RescueHash, err = intent.RescueHash(p.Verb, in.Text("rescue_password")); err != nil {
		return 0, nil, err
	}
	for _, f := range node.VerbFields {
		if f.Steps {
			in.List(f.Name)
		}
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if err := s.ReadRunbook(c, p); err != nil {
		return 0, nil, err
	}
	if p.Drive = in.Fields["configdrive"]; p.Drive == "" {
		p.Drive = nil
	}
	if p.Drive != nil {
		// It may be 64 MiB: looked at before the node's row is locked, and
		// complained of where Ironic complains.
		_, p.DriveErr = configdrive.Parse(p.Drive)
	}
	return s.Request(c, intent.Asked{
		Event: p.Verb.Event, Provision: p,
		Decide: func(n *node.Node, fl *intent.Fleet) (*node.Request, error) { return s.Decide(p, n, fl) },
	})
}
