package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// minorNMI is the microversion that has inject_nmi.
const minorNMI = 29

// getBootDevice answers GET /v1/nodes/X/management/boot_device.
func (s *Server) getBootDevice(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	read, err := s.ReadBoot(c, node.ReadBootDevice)
	if err != nil {
		return 0, nil, err
	}
	out := gin.H{"boot_device": nil, "persistent": nil}
	if b := read.BootDevice; b.Device != "" {
		out["boot_device"], out["persistent"] = b.Device, b.Persistent
	}
	return http.StatusOK, out, nil
}

// listBootDevices answers GET /v1/nodes/X/management/boot_device/supported.
func (s *Server) listBootDevices(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	read, err := s.ReadBoot(c, node.ReadBootDevices)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"supported_boot_devices": format.List(read.BootDevices)}, nil
}

// putBootDevice answers PUT /v1/nodes/X/management/boot_device when the BMC has taken the device.
func (s *Server) putBootDevice(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "boot_device", "persistent")
	if err != nil {
		return 0, nil, err
	}
	device, err := intent.BootDeviceOf(in)
	if err != nil {
		return 0, nil, err
	}
	return s.manage(c, node.KindBootDevice, plan.Options{BootDevice: device})
}

// putNMI answers PUT /v1/nodes/X/management/inject_nmi when the BMC has injected the NMI.
func (s *Server) putNMI(c *gin.Context) (int, any, error) {
	if _, err := format.ReadObject(c, format.MaxBody); err != nil {
		return 0, nil, err
	}
	return s.manage(c, node.KindNMI, plan.Options{})
}

// management is a request of kind k to the management interface.
func (s *Server) management(c *gin.Context, k node.OperationKind, o plan.Options) intent.Asked {
	by := httpd.User(c)
	return intent.Asked{Decide: func(n *node.Node, fl *intent.Fleet) (*node.Request, error) {
		return s.DecideManagement(n, fl, k, o, by)
	}}
}

// manage opens an operation of kind k and waits for its end.
func (s *Server) manage(c *gin.Context, k node.OperationKind, opts plan.Options) (int, any, error) {
	o, _, err := s.Submit(c, s.management(c, k, opts))
	if err == nil {
		_, err = s.Finish(c, o)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, nil
}
