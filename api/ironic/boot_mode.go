package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// putBootMode answers PUT /v1/nodes/X/states/boot_mode.
func (s *Server) putBootMode(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "target")
	if err != nil {
		return 0, nil, err
	}
	in.Require("target")
	if target := in.Text("target"); target != "uefi" && target != "bios" {
		in.Fail("Invalid boot mode %s requested for node. Allowed boot modes are: uefi, bios", format.Clip(target))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.unsupported(c, "set_boot_mode")
}

// putSecureBoot answers PUT /v1/nodes/X/states/secure_boot.
func (s *Server) putSecureBoot(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "target")
	if err != nil {
		return 0, nil, err
	}
	in.Require("target")
	if in.Boolean("target") == nil {
		in.Fail("Invalid secure_boot %s requested for node. Allowed secure_boot states are: True, False)", format.Describe(in.Fields["target"]))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.unsupported(c, "set_secure_boot_state")
}
