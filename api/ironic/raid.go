package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
	"go.temper.dev/temper/internal/share"
)

const minorRAID = 12

// putRAID answers PUT /v1/nodes/X/states/raid. If the raid interface has no RAID, the answer is 404 and not 400, as in Ironic. An empty
// object removes the configuration, whatever the interface.
func (s *Server) putRAID(c *gin.Context) (int, any, error) {
	in, err := format.ReadOpenObject(c, format.MaxBody)
	if err != nil {
		return 0, nil, err
	}
	if format.Minor(c) < minorRAID {
		return 0, nil, format.TooNew(minorRAID)
	}
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err != nil {
		return 0, nil, err
	}
	err = s.InTurn(c.Request.Context(), fl, func(t *lockwait.Turn) error {
		_, err := s.Store.ClaimNode(c.Request.Context(), n.UUID, httpd.User(c), share.Claimer{}, func(n *node.Node) (node.Secrets, error) {
			return nil, s.Admit(t, n, func(n *node.Node) error {
				if held := fl.Reservation(n); held != "" {
					return node.Locked(n, held)
				}
				return setRAID(n, in.Fields)
			})
		})
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, nil
}

// setRAID sets the RAID configuration that n is to have.
func setRAID(n *node.Node, config map[string]any) error {
	if len(config) > 0 {
		disks, err := n.LogicalDisks(config)
		if fault.CodeOf(err) == fault.NotSupported {
			return fault.CodedAs(fault.NotFound, fault.NotSupported, "%w", err)
		} else if err == nil {
			err = checkRAIDHints(disks)
		}
		if err != nil {
			return err
		}
	}
	n.TargetRAIDConfig = config
	return nil
}

// checkRAIDHints returns an error if hints for physical disks are none that an agent understands.
func checkRAIDHints(disks []node.LogicalDisk) error {
	for i, d := range disks {
		for _, hint := range d.Hints {
			if _, err := rootdevice.Parse(hint); err != nil {
				return fault.New(fault.Invalid, "logical_disks/%d: physical_disks: %w", i, err)
			}
		}
	}
	return nil
}
