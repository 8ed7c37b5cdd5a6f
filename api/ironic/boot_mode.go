package ironic

import (
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// putBootMode answers PUT /v1/nodes/X/states/boot_mode. As in Ironic the answer does not wait for the BMC.
func (s *Server) putBootMode(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "target")
	if err != nil {
		return 0, nil, err
	}
	in.Require("target")
	target := in.Text("target")
	if !slices.Contains(node.BootModes, target) {
		in.Fail("Invalid boot mode %s requested for node. Allowed boot modes are: uefi, bios", format.Clip(target))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.Request(c, s.management(c, node.KindBootMode, plan.Options{Args: map[string]any{node.ArgTarget: target}}))
}

// putSecureBoot answers PUT /v1/nodes/X/states/secure_boot, as putBootMode does.
func (s *Server) putSecureBoot(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "target")
	if err != nil {
		return 0, nil, err
	}
	in.Require("target")
	target := in.Boolean("target")
	if target == nil {
		in.Fail("Invalid secure_boot %s requested for node. Allowed secure_boot states are: True, False)", format.Describe(in.Fields["target"]))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.Request(c, s.management(c, node.KindSecureBoot, plan.Options{Args: map[string]any{node.ArgTarget: *target}}))
}
