package intent

import (
	"context"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Stop ends an operation. If nobody works on it and nobody could, it ends in this
// request; otherwise its workflow is asked to end it.
func (s *Service) Stop(c *gin.Context, id int64, fl *Fleet, reason string) (*node.Operation, error) {
	o, err := s.cancelNow(c, id, fl, reason)
	if err == nil && o == nil {
		o, err = s.Store.AskOperation(c.Request.Context(), id, node.AskCancel, httpd.User(c), reason)
	}
	if err != nil {
		return nil, err
	}
	httpd.Annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID))
	httpd.Logger(c).Info("operation asked to end", zap.String("user", httpd.User(c)))
	if o.EndedAt != nil {
		s.ended(c, o)
	} else {
		s.Nudge(c, o)
	}
	return o, nil
}

// end decides an abort, or a deletion of the instance, of a node whose operation nobody
// works on. With now, the operation ends in this transaction, because nobody could work
// on it; otherwise its workflow undoes and ends it. It returns nil for any other verb.
func (s *Service) end(p *Provision, n *node.Node, now bool) (*node.Request, error) {
	d, ok, err := admission.EndNow(n, p.Verb)
	switch {
	case !ok || err != nil:
		return nil, err
	case p.Verb.MinorIn(n.ProvisionState) > p.Minor:
		return nil, fault.New(fault.NotAcceptable, "Request not acceptable.")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	r := s.ending(node.Steer{Ask: d.Steer, By: p.User, Reason: p.Verb.Target, OnFailure: p.OnFailure})
	r.Move, r.EndNow = d.Move, now
	return r, nil
}

func (s *Service) ending(st node.Steer) *node.Request {
	return &node.Request{Steer: &st, EndNow: true, Defaults: s.Defaults()}
}

// Defaults are the settings of an operation that no request asked for, like the
// cleaning after an undeploy.
func (s *Service) Defaults() node.Defaults {
	return node.Defaults{AutomatedClean: s.AutomatedClean, OnFailure: s.OnFailure}
}

// cancelNow ends an operation that nobody works on and nobody could. It returns nil if
// somebody works on it or could.
func (s *Service) cancelNow(c *gin.Context, id int64, fl *Fleet, reason string) (*node.Operation, error) {
	ctx := c.Request.Context()
	o, err := s.Store.Operation(ctx, id)
	if err != nil || o.EndedAt != nil {
		return nil, err
	}
	return s.Store.Request(ctx, o.NodeUUID, func(n *node.Node) (*node.Request, error) {
		if n.Operation == nil || n.Operation.ID != id || !fl.Orphaned(n) {
			return nil, nil //nolint:nilnil // nothing is to happen here
		}
		r := s.ending(node.Steer{Ask: node.AskCancel, By: httpd.User(c), Reason: reason})
		r.User = httpd.User(c)
		return r, nil
	})
}

// ended tells the workflow of o that o was ended without it, and starts the operation
// that follows o.
func (s *Service) ended(c *gin.Context, o *node.Operation) {
	before := c.Writer.Header().Get(HeaderWarning)
	s.Tell(c, o, "cancel", func(ctx context.Context, o *node.Operation) error {
		return s.Operations.Cancel(ctx, o, o.AskedReason)
	})
	s.Tell(c, o, "unpause", func(ctx context.Context, o *node.Operation) error { // to find that it has ended
		return s.Operations.Unpause(ctx, o, httpd.By(c), "its operation has ended")
	})
	c.Header(HeaderWarning, before) // o has ended, whether or not its workflow has heard of it
	if o.FollowUp == 0 {
		return
	}
	next, err := s.Store.Operation(c.Request.Context(), o.FollowUp)
	if err != nil { // its row is there, and started from there
		httpd.Logger(c).Warn("operation that follows not started, reconciliation will", zap.Int64("operation", o.FollowUp), zap.Error(err))
		return
	}
	s.Start(c, next)
}
