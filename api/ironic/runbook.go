package ironic

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// minorRunbooks is the version that added runbooks.
const (
	minorRunbooks = 92
	noRunbooks    = "The API version does not allow runbooks"
)

var runbookSet = format.Setters[node.Runbook]{Resource: "runbook"}

func runbookRecord(b *node.Runbook) *node.Record { return &b.Record }

// runbookResource is the runbook (Ironic api/controllers/v1/runbook.py).
var runbookResource = resource[node.Runbook]{
	noun: "runbook", path: "runbooks", items: "runbooks", param: "runbook", names: minorRunbooks,
	defaults: []string{"uuid", "name"}, required: []string{"name", "steps"}, detail: minorRunbooks,
	record: runbookRecord, fresh: func() *node.Runbook { return &node.Runbook{} },
	attributes: append(recordFields(minorRunbooks, runbookSet, runbookRecord), format.Attributes[node.Runbook, node.Runbook]{
		{
			Name: "name", Since: minorRunbooks, Value: func(b *node.Runbook) any { return b.Name },
			Set: traitName(runbookSet, func(b *node.Runbook) *string { return &b.Name }), Create: true, Patch: true,
		},
		{
			Name: "steps", Since: minorRunbooks, Value: func(b *node.Runbook) any { return shownSteps(b.Steps, "order") }, Nosort: true,
			Set: stepsField(plan.Runbook, func(b *node.Runbook) *[]node.TemplateStep { return &b.Steps }), Create: true, Patch: true,
		},
		{
			Name: "disable_ramdisk", Since: minorRunbooks, Value: func(b *node.Runbook) any { return b.DisableRamdisk },
			Set: runbookSet.Boolean("disable_ramdisk", false, func(b *node.Runbook) *bool { return &b.DisableRamdisk }), Create: true, Patch: true,
		},
		{
			Name: "extra", Since: minorRunbooks, Value: func(b *node.Runbook) any { return format.Dict(b.Extra) }, Nosort: true,
			Set: runbookSet.Dict("extra", func(b *node.Runbook) *map[string]any { return &b.Extra }), Create: true, Patch: true,
		},
		{
			Name: "public", Since: minorRunbooks, Value: func(b *node.Runbook) any { return b.Public },
			Set: runbookSet.Boolean("public", false, func(b *node.Runbook) *bool { return &b.Public }), Create: true, Patch: true,
		},
		{
			Name: "owner", Since: minorRunbooks, Value: func(b *node.Runbook) any { return format.OrNull(b.Owner) },
			Set: runbookSet.Text("owner", 255, func(b *node.Runbook) *string { return &b.Owner }), Create: true, Patch: true,
		},
		// Newer than what is served: known, so that asking for it is 406 and not 400.
		{
			Name: "description", Since: 112, Value: func(b *node.Runbook) any { return format.OrNull(b.Description) },
			Set: runbookSet.Text("description", 255, func(b *node.Runbook) *string { return &b.Description }), Create: true, Patch: true,
		},
		{Name: "traits", Since: 112, Value: func(b *node.Runbook) any { return []string{b.Name} }, Nosort: true},
	}...),
}

// hideRunbook takes the secrets out of the steps. Where the mask stands, the secret of before stays.
func hideRunbook(before, b *node.Runbook) (err error) {
	b.Steps, b.Hidden.Clear, err = intent.HideSteps(b.Steps, before.Hidden.Clear)
	return err
}

// listRunbooks answers GET /v1/runbooks.
func (s *Server) listRunbooks(c *gin.Context) (int, any, error) {
	l, err := runbookResource.read(c, s.MaxLimit, false)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.Runbooks(c.Request.Context(), l.page.Store())
	if err != nil {
		return 0, nil, err
	}
	return runbookResource.list(c, "runbooks", l, all)
}

// getRunbook answers GET /v1/runbooks/X.
func (s *Server) getRunbook(c *gin.Context) (int, any, error) {
	return runbookResource.show(c, s.Store.Runbook)
}

// createRunbook answers POST /v1/runbooks.
func (s *Server) createRunbook(c *gin.Context) (int, any, error) {
	b, err := runbookResource.posted(c)
	if err != nil {
		return 0, nil, err
	}
	if err := hideRunbook(&node.Runbook{}, b); err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateRunbook(c.Request.Context(), b); err != nil {
		return 0, nil, err
	}
	return runbookResource.created(c, b)
}

// patchRunbook answers PATCH /v1/runbooks/X. A public runbook is nobody's: making one public, or not, takes its owner away, and
// an owner can only be set where it is not public afterwards.
func (s *Server) patchRunbook(c *gin.Context) (int, any, error) {
	p, err := runbookResource.patched(c, s.Store.Runbook)
	if err != nil {
		return 0, nil, err
	}
	roots := format.Roots(p.ops)
	owned, published := slices.Contains(roots, "owner"), slices.Contains(roots, "public")
	b, err := s.Store.UpdateRunbook(c.Request.Context(), p.before.UUID, runbookResource.apply(p, func(before, after *node.Runbook) error {
		switch {
		case owned && after.Owner != "" && after.Public:
			return fault.New(fault.Invalid, "Couldn't apply patch '/owner'. Reason: There cannot be an owner for a public runbook")
		case published && !owned:
			after.Owner = ""
		}
		return hideRunbook(before, after)
	}))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, runbookResource.whole(c, b), nil
}

// deleteRunbook answers DELETE /v1/runbooks/X.
func (s *Server) deleteRunbook(c *gin.Context) (int, any, error) {
	b, err := runbookResource.find(c, s.Store.Runbook)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.DeleteRunbook(c.Request.Context(), b.UUID)
}
