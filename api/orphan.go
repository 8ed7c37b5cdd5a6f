package api

import (
	"context"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// end is an abort or a deleted on a node whose operation nobody works on. Where
// nobody could, it is done in this transaction, whatever else is dead (now); else
// its workflow undoes and ends it. nil: it is another verb.
func (s *Server) end(p *provision, n *node.Node, now bool) (*node.Request, error) {
	d, ok, err := admission.EndNow(n, p.verb)
	switch {
	case !ok || err != nil:
		return nil, err
	case min(p.verb.MinorIn(n.ProvisionState), MaxMinor) > p.minor:
		return nil, fault.New(fault.NotAcceptable, "Request not acceptable.")
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	r := s.ending(node.Steer{Ask: d.Steer, By: p.user, Reason: p.verb.Target, OnFailure: p.onFailure})
	r.Move, r.EndNow = d.Move, now
	return r, nil
}

func (s *Server) ending(st node.Steer) *node.Request {
	return &node.Request{Steer: &st, EndNow: true, Defaults: s.defaults()}
}

// defaults are the settings of operations that no request describes.
func (s *Server) defaults() node.Defaults {
	return node.Defaults{AutomatedClean: s.AutomatedClean, OnFailure: s.OnFailure}
}

// cancelNow ends an operation that nobody works on and nobody could; nil where
// somebody does.
func (s *Server) cancelNow(c *gin.Context, id int64, fl *fleet, reason string) (*node.Operation, error) {
	ctx := c.Request.Context()
	o, err := s.Store.Operation(ctx, id)
	if err != nil || o.EndedAt != nil {
		return nil, err
	}
	return s.Store.Request(ctx, o.NodeUUID, func(n *node.Node) (*node.Request, error) {
		if n.Operation == nil || n.Operation.ID != id || !fl.orphaned(n) {
			return nil, nil //nolint:nilnil // nothing is to happen here
		}
		r := s.ending(node.Steer{Ask: node.AskCancel, By: user(c), Reason: reason})
		r.User = user(c)
		return r, nil
	})
}

// ended tells the workflow of an operation that was ended without it, and starts
// what follows.
func (s *Server) ended(c *gin.Context, o *node.Operation) {
	s.told(c, o, "cancel", func(ctx context.Context, o *node.Operation) error {
		return s.Operations.Cancel(ctx, o, o.AskedReason)
	})
	s.told(c, o, "unpause", func(ctx context.Context, o *node.Operation) error { // to find that it has ended
		return s.Operations.Unpause(ctx, o, by(c), "its operation has ended")
	})
	if o.FollowUp == 0 {
		return
	}
	next, err := s.Store.Operation(c.Request.Context(), o.FollowUp)
	if err != nil { // its row is there, and started from there
		logger(c).Warn("what follows is started by reconciliation", zap.Int64("operation", o.FollowUp), zap.Error(err))
		return
	}
	s.started(c, next)
}
