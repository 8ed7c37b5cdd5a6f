package intent

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// headerOnFailure and the query parameter on_failure say what the operation that a
// request opens does when a step has failed for good.
const headerOnFailure = "Temper-On-Failure"

// OnFailureOf is what the request says about on_failure, or else the setting.
func (s *Service) OnFailureOf(c *gin.Context) (node.OnFailure, error) {
	word, given := c.GetQuery("on_failure")
	if !given {
		word = c.GetHeader(headerOnFailure)
		given = word != ""
	}
	if !given {
		return s.OnFailure, nil
	}
	return AsOnFailure(word)
}

// HeaderOperation is the header of a 202 that has the id of the operation.
const HeaderOperation = "Temper-Operation"

// AsOnFailure reads what an operation does when a step fails for good.
func AsOnFailure(word string) (node.OnFailure, error) {
	if !slices.Contains(node.OnFailures, node.OnFailure(word)) {
		return "", fault.New(fault.Invalid, "on_failure \"%s\" is not valid, it is one of %v", format.Clip(word), node.OnFailures)
	}
	return node.OnFailure(word), nil
}

// Asked is what is asked of a node.
type Asked struct {
	Event             node.Event // of the life cycle; "" = nothing of it
	Provision         *Provision // whose image is checked before the node is locked; nil = it writes none
	WaitsForConductor bool       // it waits where nobody could do it now
	Once              node.IdempotencyKey
	// decide runs with the node's row locked, so it must read nothing but its arguments.
	Decide func(*node.Node, *Fleet) (*node.Request, error)
}

// Request is Submit with Ironic's answer: 202, with the states as Location.
func (s *Service) Request(c *gin.Context, a Asked) (int, any, error) {
	var err error
	if a.WaitsForConductor, err = waitsForConductor(c); err != nil {
		return 0, nil, err
	}
	if _, _, err := s.Submit(c, a); err != nil {
		return 0, nil, err
	}
	format.Located(c, "nodes/"+url.PathEscape(c.Param("node"))+"/states")
	return http.StatusAccepted, nil, nil
}

// Submit decides what is asked of a node, and tells the workflow of the operation that
// this opened or steered, unless the request joined it. It returns nil if only the node changed.
func (s *Service) Submit(c *gin.Context, a Asked) (*node.Operation, *Fleet, error) {
	ctx := c.Request.Context()
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return nil, nil, err
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return nil, nil, err
	}
	fl.WaitsForConductor = a.WaitsForConductor
	if err := s.ReadTemplates(ctx, a.Provision, ident); err != nil {
		return nil, nil, err
	}
	image, err := s.imageOf(ctx, a.Provision, ident, fl)
	if err != nil {
		return nil, nil, err
	}
	var o *node.Operation
	var opened, joined, repeated bool
	err = s.InTurn(ctx, fl, func(t *lockwait.Turn) (err error) {
		o, repeated, err = s.Store.RequestOnce(ctx, ident, a.Once, func(n *node.Node) (r *node.Request, err error) {
			err = s.Admit(t, n, func(n *node.Node) (err error) {
				r, err = s.decide(c, a, n, fl, image)
				return err
			})
			if err == nil && r.Join {
				err = s.InOrder(t, n)
			}
			if err == nil {
				opened, joined = r.Open != nil, r.Join
			}
			return r, err
		})
		return err
	})
	if err != nil || o == nil {
		return nil, fl, err
	}
	httpd.Annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID))
	c.Header(HeaderOperation, strconv.FormatInt(o.ID, 10))
	if repeated {
		httpd.Logger(c).Info("request accepted before, answered again", zap.String("kind", string(o.Kind)), zap.String("user", httpd.User(c)))
		return o, fl, nil
	}
	if joined {
		httpd.Logger(c).Info("request joined the open operation", zap.String("kind", string(o.Kind)), zap.String("user", httpd.User(c)))
		return o, fl, nil
	}
	httpd.Logger(c).Info("request accepted", zap.String("kind", string(o.Kind)), zap.String("asked", string(o.Asked)), zap.String("user", httpd.User(c)))
	switch {
	case opened:
		s.Start(c, o)
	case o.EndedAt != nil:
		s.ended(c, o)
	default:
		s.Nudge(c, o)
	}
	return o, fl, nil
}

// decide returns what a does to n, or why it is refused, with what can be done about that.
func (s *Service) decide(c *gin.Context, a Asked, n *node.Node, fl *Fleet, image CheckedImage) (*node.Request, error) {
	r, err := a.Decide(n, fl)
	if err == nil && r.Open != nil {
		err = image.Refusal(n)
	}
	if err != nil {
		return nil, a.Helped(err, n)
	}
	r.User = httpd.User(c)
	return r, nil
}
