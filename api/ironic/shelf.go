package ironic

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// shelf answers the requests for a resource whose records belong to no node, so that nothing but their own contents decides what a
// client may do with them.
type shelf[T any] struct {
	*resource[T]
	maxLimit int
	// What the store can do with them. A record that is read by its uuid or name has its secrets, as far as they open.
	all    func(context.Context, node.Page) ([]T, error)
	one    func(ctx context.Context, ident string) (*T, error)
	create func(context.Context, *T) error
	update func(ctx context.Context, ident string, edit func(*T) error) (*T, error)
	remove func(ctx context.Context, ident string) error
	// settle checks what a POST (no ops, before is empty) or PATCH makes of a record, and completes it: among other things it takes the
	// secrets out of it. nil = there is nothing to do.
	settle func(c *gin.Context, ops []format.PatchOp, before, after *T) error
	// sees is the rule that says which records of the list a client sees; nil = all.
	sees *access.Rule
}

func (h *shelf[T]) seen(c *gin.Context) *node.View {
	if h.sees == nil {
		return nil
	}
	return httpd.View(c, h.sees)
}

// collection returns the handler of GET of the list at path below /v1; detailed says that the path asks for all fields.
func (h *shelf[T]) collection(path string, detailed bool) func(*gin.Context) (int, any, error) {
	return func(c *gin.Context) (int, any, error) {
		l, err := h.read(c, h.maxLimit, detailed)
		if err != nil {
			return 0, nil, err
		}
		all, err := h.all(c.Request.Context(), l.page.Of(h.seen(c)))
		if err != nil {
			return 0, nil, err
		}
		return h.resource.list(c, path, l, all)
	}
}

// list answers GET of the list.
func (h *shelf[T]) list(c *gin.Context) (int, any, error) { return h.collection(h.path, false)(c) }

// get answers GET of one record.
func (h *shelf[T]) get(c *gin.Context) (int, any, error) { return h.show(c, h.one) }

// post answers POST of a record.
func (h *shelf[T]) post(c *gin.Context) (int, any, error) {
	t, err := h.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if h.settle != nil {
		if err := h.settle(c, nil, new(T), t); err != nil {
			return 0, nil, err
		}
	}
	if err := h.create(c.Request.Context(), t); err != nil {
		return 0, nil, err
	}
	return h.created(c, t)
}

// patch answers PATCH of a record.
func (h *shelf[T]) patch(c *gin.Context) (int, any, error) {
	p, err := h.patched(c, h.one)
	if err != nil {
		return 0, nil, err
	}
	var allowed func(before, after *T) error
	if h.settle != nil {
		allowed = func(before, after *T) error { return h.settle(c, p.ops, before, after) }
	}
	t, err := h.update(c.Request.Context(), h.record(p.before).UUID, h.apply(p, allowed))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, h.whole(c, t), nil
}

// delete answers DELETE of a record.
func (h *shelf[T]) delete(c *gin.Context) (int, any, error) {
	t, err := h.find(c, h.one)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, h.remove(c.Request.Context(), h.record(t).UUID)
}
