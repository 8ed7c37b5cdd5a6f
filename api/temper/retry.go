package temper

import (
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// retryOperation answers POST /temper/v1/operations/ID/retry. An operation that
// has ended is done again as a new one, from the step that failed where that is
// safe; one that holds at a step that failed runs that again.
func (s *Server) retryOperation(c *gin.Context) (int, any, error) {
	id, reason, err := operationAndReason(c)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	old, err := s.Store.Operation(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	if err := httpd.PermitTarget(c, kindRule(old.Kind)); err != nil {
		return 0, nil, err
	}
	if old.Undecided() != nil {
		return s.decided(c, id, node.ActionRetry, reason)
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	image, err := s.RetriedImage(ctx, old)
	if err != nil {
		return 0, nil, err
	}
	var o *node.Operation
	err = s.InTurn(ctx, fl, func(t *lockwait.Turn) (err error) {
		o, err = s.Store.Retry(ctx, id, func(n *node.Node, old *node.Operation, newest bool) (r *node.Request, err error) {
			err = s.Admit(t, n, func(n *node.Node) (err error) {
				if r, err = s.decideRetry(n, old, newest, fl, httpd.By(c), reason); err == nil {
					err = image.Refusal(n)
				}
				return intent.Helped(err, n, node.EventOf(old.Kind))
			})
			return r, err
		})
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	httpd.Annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID))
	httpd.Logger(c).Info("an operation was retried", zap.Int64("retry_of", id), zap.String("user", httpd.User(c)))
	s.Start(c, o)
	c.Header(intent.HeaderOperation, strconv.FormatInt(o.ID, 10))
	return s.acceptedOperation(c, o, fl)
}

func (s *Server) decideRetry(n *node.Node, old *node.Operation, newest bool, fl *intent.Fleet, by, reason string) (*node.Request, error) {
	r, err := admission.Retry(n, old, newest, fl.Reservation(n), plan.Options{AutomatedClean: s.AutomatedClean})
	if err != nil {
		return nil, err
	}
	if err := fl.RequireCovered(n); err != nil {
		return nil, err
	}
	if old.Kind.Provisions() {
		err = s.Fits(n, old.Kind, !node.BootsAgent(r.Open.Steps))
	} else {
		err = s.Drivers.Validate(n.Driver, n.DriverInfo)
	}
	if err != nil {
		return nil, err
	}
	r.User, r.Open.RequestedBy = by, by
	if reason != "" {
		r.Event += ": " + reason
	}
	return r, nil
}
