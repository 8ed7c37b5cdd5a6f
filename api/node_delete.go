package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/node"
)

// deleteNode answers DELETE /v1/nodes/X. A node in maintenance may go whatever
// it does; what runs on it is told to stop, and its claims are void with the row.
func (s *Server) deleteNode(c *gin.Context) (int, any, error) {
	ctx := c.Request.Context()
	ident, err := s.ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	var uuid string
	var open *node.Operation
	err = s.Store.DeleteNode(ctx, ident, user(c), func(n *node.Node) error {
		uuid, open = n.UUID, n.Operation
		if n.Maintenance && fl.orphaned(n) {
			return admission.Delete(n, "")
		}
		return helped(admission.Delete(n, fl.reservation(n)), n, "")
	})
	if err != nil {
		return 0, nil, err
	}
	logger(c).Info("node deleted", zap.String("node", uuid), zap.String("user", user(c)))
	if open != nil {
		s.told(c, open, "cancel", func(ctx context.Context, o *node.Operation) error {
			return s.Operations.Cancel(ctx, o, "the node was deleted")
		})
	}
	return http.StatusNoContent, nil, nil
}

// getStates answers GET /v1/nodes/X/states.
func (s *Server) getStates(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	v := &view{Node: n, minor: minor(c)}
	out := make(map[string]any, len(stateFields))
	for _, f := range stateFields {
		if minor(c) >= f.since {
			out[f.name] = nodeAttributes.named(f.name).value(v)
		}
	}
	return http.StatusOK, out, nil
}

// stateFields are the attributes that the states resource repeats.
var stateFields = []struct {
	name  string
	since int
}{
	{"console_enabled", 1},
	{"last_error", 1},
	{"power_state", 1},
	{"provision_state", 1},
	{"target_power_state", 1},
	{"target_provision_state", 1},
	{"provision_updated_at", 1},
	{"raid_config", 12},
	{"target_raid_config", 12},
	{"boot_mode", 75},
	{"secure_boot", 75},
}
