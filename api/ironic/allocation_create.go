package ironic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// headerAllocation is the header of the answer that says how an allocation has ended: active or error.
const headerAllocation = "Temper-Allocation"

// createAllocation answers POST /v1/allocations. The node is found, or not,
// before the answer, which says so in headerAllocation only.
func (s *Server) createAllocation(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "candidate_nodes", "extra", "name", "node", "owner", "resource_class", "traits", "uuid")
	if err != nil {
		return 0, nil, err
	}
	if _, given := in.Fields["owner"]; given && format.Minor(c) < minorAllocationFor {
		return 0, nil, format.TooNew(minorAllocationFor)
	}
	a, err := newAllocation(in, format.Minor(c))
	if err != nil {
		return 0, nil, err
	}
	if a.Owner, err = allocationOwner(c, a.Owner); err != nil {
		return 0, nil, err
	}
	if err := s.resolveCandidates(c, a); err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	if ident := in.Text("node"); ident != "" {
		err = s.backfill(c, ident, a)
	} else {
		err = s.InTurn(ctx, nil, func(t *lockwait.Turn) error {
			return s.Store.Allocate(ctx, a, node.AllocationSearch{Dedicated: s.DedicatedNodes, Patient: t.Patient(), Only: httpd.View(c, access.NodeGet)}, httpd.User(c))
		})
	}
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("an allocation was made", zap.String("allocation", a.UUID), zap.String("state", string(a.State)),
		zap.String("node", a.NodeUUID), zap.String("last_error", a.LastError), zap.String("user", httpd.User(c)))
	format.Located(c, "allocations/"+a.UUID)
	c.Header(headerAllocation, string(a.State))
	shown := *a
	if in.Text("node") == "" {
		// Ironic looks for a node after the answer. Its clients read from the allocation how that ended.
		shown.State, shown.NodeUUID, shown.LastError = node.Allocating, "", ""
	}
	return http.StatusCreated, s.allocationBody(c, &shown, allocationAttributes.UpTo(format.Minor(c))), nil
}

// allocationOwner is the project of an allocation whose request names asked. A client who may not create allocations for everybody creates
// them for its own project, and gets nodes of that project only.
func allocationOwner(c *gin.Context, asked string) (string, error) {
	return httpd.OwnProject(c, access.AllocationCreateRestricted.AllowsAll(httpd.IdentityOf(c)), access.AllocationCreate, asked)
}

// newAllocation is the allocation that a POST describes, in the order in which
// Ironic looks at it.
func newAllocation(in *format.Object, minor int) (*node.Allocation, error) {
	a := &node.Allocation{
		UUID: in.Text("uuid"), Name: in.Text("name"), ResourceClass: in.Text("resource_class"), Owner: in.Text("owner"),
		Extra: map[string]any{},
	}
	ident := in.Text("node")
	if a.UUID != "" && !node.IsUUID(a.UUID) {
		in.Fail("Expected UUID for uuid: %s", format.Clip(a.UUID))
	}
	a.UUID = node.CanonicalUUID(a.UUID)
	if a.Name != "" && !node.ValidName(a.Name, minor) {
		in.Fail("Cannot create allocation with invalid name '%s'", format.Clip(a.Name))
	}
	a.Traits = words(in, "traits")
	for _, t := range a.Traits {
		if err := node.ValidTrait(t); err != nil {
			in.Fail("Schema error for allocation: traits: %w", err)
		}
	}
	slices.Sort(a.Traits)
	a.Traits = slices.Compact(a.Traits)
	if ident != "" && minor < minorBackfill {
		in.Fail("Cannot set node when creating an allocation in this API version")
	}
	if a.ResourceClass == "" && ident == "" {
		in.Fail("The resource_class field is mandatory when not backfilling")
	}
	if err := node.ValidResourceClass(a.ResourceClass); err != nil {
		in.Fail("Schema error for allocation: %w", err)
	}
	if len([]rune(a.Owner)) > 255 {
		in.Fail("Schema error for allocation: owner is too long")
	}
	a.CandidateNodes = words(in, "candidate_nodes")
	if err := setAllocationExtra(a, in.Fields["extra"]); err != nil {
		in.Fail("%w", err)
	}
	return a, in.Err
}

// words is an array of strings; nil = absent or null.
func words(o *format.Object, name string) []string {
	var out []string
	for _, v := range o.List(name) {
		s, ok := v.(string)
		if !ok {
			o.Fail("Schema error for allocation: %s: %s is not of type 'string'", name, format.Describe(v))
			return nil
		}
		out = append(out, s)
	}
	return out
}

// resolveCandidates turns names into uuids, in their order, each once.
func (s *Server) resolveCandidates(c *gin.Context, a *node.Allocation) error {
	if len(a.CandidateNodes) == 0 {
		return nil
	}
	for i, ident := range a.CandidateNodes {
		a.CandidateNodes[i] = node.CanonicalUUID(ident)
	}
	known, err := s.Store.NodeUUIDs(c.Request.Context(), a.CandidateNodes, httpd.View(c, access.NodeGet))
	if err != nil {
		return err
	}
	var out, missing []string
	for _, ident := range a.CandidateNodes {
		id, ok := known[ident]
		switch {
		case !ok:
			missing = append(missing, format.Clip(ident))
		case !slices.Contains(out, id):
			out = append(out, id)
		}
	}
	if len(missing) > 0 {
		return fault.New(fault.Invalid, "Nodes cannot be found: %s", format.Clip(strings.Join(missing, ", ")))
	}
	a.CandidateNodes = out
	return nil
}

// backfill records an allocation for a node that is in use already.
func (s *Server) backfill(c *gin.Context, ident string, a *node.Allocation) error {
	n, err := s.Find(c, ident)
	if err != nil {
		return format.NotFoundIsInvalid(err)
	}
	if !access.AllocationCreateRestricted.AllowsAll(httpd.IdentityOf(c)) && a.Owner != n.Owner && a.Owner != n.Lessee {
		return fault.New(fault.Invalid, "Node %s belongs to another project than the allocation.", n.UUID)
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return err
	}
	return s.InTurn(c.Request.Context(), fl, func(t *lockwait.Turn) error {
		return s.Store.Backfill(c.Request.Context(), n.UUID, a, httpd.User(c), func(n *node.Node) error {
			if a.ResourceClass == "" {
				a.ResourceClass = n.ResourceClass
			}
			if a.UUID == "" {
				a.UUID = n.InstanceUUID
			}
			if a.UUID == "" {
				a.UUID = uuid.NewString()
			}
			return s.Admit(t, n, func(n *node.Node) error { return admission.Backfill(n, a, fl.Reservation(n)) })
		})
	})
}

// patchAllocation answers PATCH /v1/allocations/X.
func (s *Server) patchAllocation(c *gin.Context) (int, any, error) {
	found, err := s.findAllocation(c)
	if err != nil {
		return 0, nil, err
	}
	ops, err := format.ReadPatch(c)
	if err != nil {
		return 0, nil, err
	}
	if err := allocationAttributes.Patchable(ops, format.Minor(c)); err != nil {
		return 0, nil, err
	}
	for _, op := range ops {
		if name, ok := op.Value.(string); op.Path == "/name" && ok && name != "" && !node.ValidName(name, format.Minor(c)) {
			return 0, nil, fault.New(fault.Invalid, "Cannot update allocation with invalid name '%s'", format.Clip(name))
		}
	}
	a, err := s.Store.UpdateAllocation(c.Request.Context(), found.UUID, func(a *node.Allocation) error { return allocationAttributes.Apply(ops, a, a) })
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.allocationBody(c, a, allocationAttributes.UpTo(format.Minor(c))), nil
}
