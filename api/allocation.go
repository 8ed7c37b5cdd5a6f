package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The versions that added what allocations can do.
const (
	minorAllocations    = 52
	minorAllocationEdit = 57
	minorBackfill       = 58
	minorAllocationFor  = 60 // owner
)

type allocationAttribute = attribute[node.Allocation, node.Allocation]

// allocationSet makes the setters of allocations.
var (
	allocationSet      = setters[node.Allocation]{"allocation"}
	setAllocationName  = allocationSet.text("name", node.MaxName, func(a *node.Allocation) *string { return &a.Name })
	setAllocationExtra = allocationSet.dict("extra", func(a *node.Allocation) *map[string]any { return &a.Extra })
)

// allocationAttributes is the allocation resource (Ironic api/controllers/v1/allocation.py).
var allocationAttributes = attributes[node.Allocation, node.Allocation]{
	{name: "uuid", since: minorAllocations, value: func(a *node.Allocation) any { return a.UUID }},
	{name: "created_at", since: minorAllocations, value: func(a *node.Allocation) any { return timestamp(&a.CreatedAt) }},
	{name: "updated_at", since: minorAllocations, value: func(a *node.Allocation) any { return timestamp(a.UpdatedAt) }},
	{name: "name", since: minorAllocations, value: func(a *node.Allocation) any { return orNull(a.Name) }, set: setAllocationName, patch: true},
	{name: "state", since: minorAllocations, value: func(a *node.Allocation) any { return a.State }},
	{name: "last_error", since: minorAllocations, value: func(a *node.Allocation) any { return orNull(a.LastError) }},
	{name: "resource_class", since: minorAllocations, value: func(a *node.Allocation) any { return orNull(a.ResourceClass) }},
	{name: "node_uuid", since: minorAllocations, value: func(a *node.Allocation) any { return orNull(a.NodeUUID) }, nosort: true},
	{name: "traits", since: minorAllocations, value: func(a *node.Allocation) any { return list(a.Traits) }, nosort: true},
	{name: "candidate_nodes", since: minorAllocations, value: func(a *node.Allocation) any { return list(a.CandidateNodes) }, nosort: true},
	{name: "extra", since: minorAllocations, value: func(a *node.Allocation) any { return dict(a.Extra) }, set: setAllocationExtra, patch: true, nosort: true},
	{name: "owner", since: minorAllocationFor, value: func(a *node.Allocation) any { return orNull(a.Owner) }},
}

func (s *Server) allocationBody(c *gin.Context, a *node.Allocation, attrs []*allocationAttribute) map[string]any {
	out := shown(a, attrs)
	out["links"] = links(publicURL(c), "allocations/"+a.UUID)
	return out
}

// writes is a route that Ironic answers with 405 before the version that added it.
func writes(first int, words string, h handler) handler {
	return func(c *gin.Context) (int, any, error) {
		if minor(c) < first {
			return http.StatusMethodNotAllowed, errorBody("Client", words, fault.VersionNotSupported, nil), nil
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
	q := readQuery(c, slices.Concat(pageParameters, []string{"fields", "node", "resource_class", "state", "owner"})...)
	q.need(minorAllocationFor, "owner")
	p := q.pageByUUID(s.MaxLimit, allocationAttributes.sortable(q.minor))
	f := node.AllocationFilter{ResourceClass: q.text("resource_class"), State: q.text("state"), Owner: q.text("owner")}
	if q.err != nil {
		return 0, nil, q.err
	}
	attrs, err := allocationAttributes.fields(q.list("fields"), q.minor)
	if err != nil {
		return 0, nil, err
	}
	if ident := q.word("node"); ident != "" {
		n, err := s.find(c, ident)
		if err != nil {
			return 0, nil, notFoundIsInvalid(err)
		}
		f.Node = &n.UUID
	}
	all, err := s.Store.Allocations(c.Request.Context(), f, p.store())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[node.Allocation]{
		name: "allocations", path: "/v1/allocations",
		marker: func(a *node.Allocation) string { return a.UUID },
		show:   func(a *node.Allocation) any { return s.allocationBody(c, a, attrs) },
	}.body(q, p, all), nil
}

// getAllocation answers GET /v1/allocations/X.
func (s *Server) getAllocation(c *gin.Context) (int, any, error) {
	return s.showAllocation(c, func() (*node.Allocation, error) { return s.findAllocation(c) })
}

// getNodeAllocation answers GET /v1/nodes/X/allocation.
func (s *Server) getNodeAllocation(c *gin.Context) (int, any, error) {
	return s.showAllocation(c, func() (*node.Allocation, error) { return s.allocationOf(c) })
}

func (s *Server) showAllocation(c *gin.Context, find func() (*node.Allocation, error)) (int, any, error) {
	q := readQuery(c, "fields")
	if q.err != nil {
		return 0, nil, q.err
	}
	attrs, err := allocationAttributes.fields(q.list("fields"), q.minor)
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
	case isUUID(ident):
		ident = canonicalUUID(ident)
	case !node.ValidName(ident, minor(c)):
		return nil, fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", clip(ident))
	}
	a, err := s.Store.Allocation(c.Request.Context(), ident)
	if fault.Is(err, fault.NotFound) && hadJSONSuffix(c.Request.Context()) {
		return s.Store.Allocation(c.Request.Context(), ident+".json")
	}
	return a, err
}

// allocationOf is the allocation of the node of a path.
func (s *Server) allocationOf(c *gin.Context) (*node.Allocation, error) {
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return nil, err
	}
	if n.AllocationUUID == "" {
		return nil, fault.New(fault.NotFound, "Allocation for node %s was not found", clip(c.Param("node")))
	}
	return s.Store.Allocation(c.Request.Context(), n.AllocationUUID)
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
	a, err := s.allocationOf(c)
	if err != nil {
		return 0, nil, err
	}
	return s.deallocate(c, a)
}

func (s *Server) deallocate(c *gin.Context, a *node.Allocation) (int, any, error) {
	ctx := c.Request.Context()
	fl, err := s.fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeleteAllocation(ctx, a.UUID, user(c), func(n *node.Node) error {
		return admission.Deallocate(n, fl.reservation(n))
	})
}
