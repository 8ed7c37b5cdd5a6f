package ironic

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// The versions that added what allocations can do.
const (
	minorAllocations    = 52
	minorAllocationEdit = 57
	minorBackfill       = 58
	minorAllocationFor  = 60 // owner
)

type allocationAttribute = format.Attribute[node.Allocation, node.Allocation]

// allocationSet makes the setters of allocations.
var (
	allocationSet      = format.Setters[node.Allocation]{Resource: "allocation"}
	setAllocationName  = allocationSet.Text("name", node.MaxName, func(a *node.Allocation) *string { return &a.Name })
	setAllocationExtra = allocationSet.Dict("extra", func(a *node.Allocation) *map[string]any { return &a.Extra })
)

// allocationAttributes is the allocation resource (Ironic api/controllers/v1/allocation.py).
var allocationAttributes = format.Attributes[node.Allocation, node.Allocation]{
	{Name: "uuid", Since: minorAllocations, Value: func(a *node.Allocation) any { return a.UUID }},
	{Name: "created_at", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.Timestamp(&a.CreatedAt) }},
	{Name: "updated_at", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.Timestamp(a.UpdatedAt) }},
	{Name: "name", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.OrNull(a.Name) }, Set: setAllocationName, Patch: true},
	{Name: "state", Since: minorAllocations, Value: func(a *node.Allocation) any { return a.State }},
	{Name: "last_error", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.OrNull(a.LastError) }},
	{Name: "resource_class", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.OrNull(a.ResourceClass) }},
	{Name: "node_uuid", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.OrNull(a.NodeUUID) }, Nosort: true},
	{Name: "traits", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.List(a.Traits) }, Nosort: true},
	{Name: "candidate_nodes", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.List(a.CandidateNodes) }, Nosort: true},
	{Name: "extra", Since: minorAllocations, Value: func(a *node.Allocation) any { return format.Dict(a.Extra) }, Set: setAllocationExtra, Patch: true, Nosort: true},
	{Name: "owner", Since: minorAllocationFor, Value: func(a *node.Allocation) any { return format.OrNull(a.Owner) }},
}

func (s *Server) allocationBody(c *gin.Context, a *node.Allocation, attrs []*allocationAttribute) map[string]any {
	out := format.Show(a, attrs)
	out["links"] = format.Links(format.PublicURL(c), "allocations/"+a.UUID)
	return out
}

// writes is a route that Ironic answers with 405 before the version that added it.
func writes(first int, words string, h httpd.Handler) httpd.Handler {
	return func(c *gin.Context) (int, any, error) {
		if format.Minor(c) < first {
			return http.StatusMethodNotAllowed, format.ErrorBody("Client", words, fault.VersionNotSupported, nil), nil
		}
		return h(c)
	}
}

const (
	noAllocations  = "The API version does not allow allocations"
	noAllocationUp = "The API version does not allow updating allocations"
)

// listAllocations answers GET /v1/allocations.
func (s *Server) listAllocations(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, slices.Concat(format.PageParameters, []string{"fields", "node", "resource_class", "state", "owner"})...)
	q.RequireVersion(minorAllocationFor, "owner")
	p := q.PageByUUID(s.MaxLimit, allocationAttributes.Sortable(q.Minor))
	f := node.AllocationFilter{ResourceClass: q.Text("resource_class"), State: q.Text("state"), Owner: q.Text("owner")}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	attrs, err := allocationAttributes.Fields(q.List("fields"), q.Minor)
	if err != nil {
		return 0, nil, err
	}
	if ident := q.Word("node"); ident != "" {
		n, err := s.Find(c, ident)
		if err != nil {
			return 0, nil, format.NotFoundIsInvalid(err)
		}
		f.Node = &n.UUID
	}
	all, err := s.Store.Allocations(c.Request.Context(), f, p.Of(httpd.View(c, access.AllocationGet)))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.Allocation]{
		Name: "allocations", Path: "/v1/allocations",
		Marker: func(a *node.Allocation) string { return a.UUID },
		Show:   func(a *node.Allocation) any { return s.allocationBody(c, a, attrs) },
	}.Body(q, p, all), nil
}

// getAllocation answers GET /v1/allocations/X.
func (s *Server) getAllocation(c *gin.Context) (int, any, error) {
	return s.showAllocation(c, func() (*node.Allocation, error) { return s.findAllocation(c) })
}

// getNodeAllocation answers GET /v1/nodes/X/allocation.
func (s *Server) getNodeAllocation(c *gin.Context) (int, any, error) {
	return s.showAllocation(c, func() (*node.Allocation, error) { return s.allocationOf(c, access.AllocationGet) })
}

func (s *Server) showAllocation(c *gin.Context, find func() (*node.Allocation, error)) (int, any, error) {
	q := format.ReadQuery(c, "fields")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	attrs, err := allocationAttributes.Fields(q.List("fields"), q.Minor)
	if err != nil {
		return 0, nil, err
	}
	a, err := find()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.allocationBody(c, a, attrs), nil
}

// findAllocation is the allocation of a path.
func (s *Server) findAllocation(c *gin.Context) (*node.Allocation, error) {
	ident := c.Param("allocation")
	switch {
	case node.IsUUID(ident):
		ident = node.CanonicalUUID(ident)
	case !node.ValidName(ident, format.Minor(c)):
		return nil, fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", format.Clip(ident))
	}
	a, err := s.Store.Allocation(c.Request.Context(), ident)
	if fault.Is(err, fault.NotFound) && format.HadJSONSuffix(c.Request.Context()) {
		return s.Store.Allocation(c.Request.Context(), ident+".json")
	}
	return a, err
}

// allocationOf is the allocation of the node of a path, if the rule allows the request to be done to it.
func (s *Server) allocationOf(c *gin.Context, rule *access.Rule) (*node.Allocation, error) {
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return nil, err
	}
	none := fault.New(fault.NotFound, "Allocation for node %s was not found", format.Clip(c.Param("node")))
	if n.AllocationUUID == "" {
		return nil, none
	}
	a, err := s.Store.Allocation(c.Request.Context(), n.AllocationUUID)
	if err == nil && !httpd.View(c, access.AllocationGet).Shows(node.Owners{Owner: a.Owner}) {
		err = none
	}
	if err != nil {
		return nil, err
	}
	return a, httpd.Permit(c, rule, node.Owners{Owner: a.Owner})
}

// deleteAllocation answers DELETE /v1/allocations/X.
func (s *Server) deleteAllocation(c *gin.Context) (int, any, error) {
	a, err := s.findAllocation(c)
	if err != nil {
		return 0, nil, err
	}
	return s.deallocate(c, a)
}

// deleteNodeAllocation answers DELETE /v1/nodes/X/allocation.
func (s *Server) deleteNodeAllocation(c *gin.Context) (int, any, error) {
	a, err := s.allocationOf(c, access.AllocationDelete)
	if err != nil {
		return 0, nil, err
	}
	return s.deallocate(c, a)
}

func (s *Server) deallocate(c *gin.Context, a *node.Allocation) (int, any, error) {
	ctx := c.Request.Context()
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.InTurn(ctx, fl, func(t *lockwait.Turn) error {
		return s.Store.DeleteAllocation(ctx, a.UUID, httpd.User(c), func(n *node.Node) error {
			return s.Admit(t, n, func(n *node.Node) error { return admission.Deallocate(n, fl.Reservation(n)) })
		})
	})
}
