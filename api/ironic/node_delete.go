package ironic

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// deleteNode answers DELETE /v1/nodes/X. A node in maintenance can be deleted while an
// operation is open. Its workflow is cancelled, and its claims end with the row.
func (s *Server) deleteNode(c *gin.Context) (int, any, error) {
	ctx := c.Request.Context()
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	var uuid string
	var open *node.Operation
	err = s.InTurn(ctx, fl, func(t *lockwait.Turn) error {
		return s.Store.DeleteNode(ctx, ident, httpd.User(c), func(n *node.Node) error {
			uuid, open = n.UUID, n.Operation
			return s.Admit(t, n, func(n *node.Node) error {
				if n.Maintenance && fl.Orphaned(n) {
					return admission.Delete(n, "")
				}
				return intent.Helped(admission.Delete(n, fl.Reservation(n)), n, "")
			})
		})
	})
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("node deleted", zap.String("node", uuid), zap.String("user", httpd.User(c)))
	if open != nil {
		s.Tell(c, open, "cancel", func(ctx context.Context, o *node.Operation) error {
			return s.Operations.Cancel(ctx, o, "the node was deleted")
		})
	}
	return http.StatusNoContent, nil, nil
}
