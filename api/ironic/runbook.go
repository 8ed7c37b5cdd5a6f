package ironic

import (
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// The versions that added runbooks, and traits of them besides their names.
const (
	minorRunbooks      = 92
	minorRunbookTraits = 112
	noRunbooks         = "The API version does not allow runbooks"
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
			Set: setRunbookName, Create: true, Patch: true,
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
		{
			Name: "description", Since: minorRunbookTraits, Value: func(b *node.Runbook) any { return format.OrNull(b.Description) },
			Set: runbookSet.Text("description", 255, func(b *node.Runbook) *string { return &b.Description }), Create: true, Patch: true,
		},
		{Name: "traits", Since: minorRunbookTraits, Value: func(b *node.Runbook) any { return format.List(b.Traits) }, Nosort: true, Set: setRunbookTraits, Create: true},
	}...),
}

// setRunbookName takes any name. settleRunbook says what older versions want.
func setRunbookName(b *node.Runbook, v any) error {
	if s, ok := v.(string); ok && !node.ValidName(s, format.MaxMinor) {
		return fault.New(fault.Invalid, "Schema error for runbook: name: '%s' is not a valid name", format.Clip(s))
	}
	return runbookSet.Required("name", node.MaxName, func(b *node.Runbook) *string { return &b.Name })(b, v)
}

// runbooks answers the requests for runbooks.
func (s *Server) runbooks() *shelf[node.Runbook] {
	return &shelf[node.Runbook]{
		resource: &runbookResource, maxLimit: s.MaxLimit,
		sees: access.RunbookGet, all: s.Store.Runbooks, one: s.Store.Runbook, create: s.Store.CreateRunbook, update: s.Store.UpdateRunbook, remove: s.Store.DeleteRunbook,
		settle: settleRunbook,
	}
}

// settleRunbook: a public runbook is nobody's. A PATCH that makes one public, or not, takes its owner away, and an owner can only be set
// where it is not public afterwards.
func settleRunbook(c *gin.Context, ops []format.PatchOp, before, after *node.Runbook) error {
	if before.Name != after.Name && format.Minor(c) < minorRunbookTraits { // its name is its trait
		if err := node.ValidTrait(after.Name); err != nil {
			return fault.New(fault.Invalid, "Schema error for runbook: name: %w", err)
		}
		after.RenameTrait(before.Name)
	}
	if err := permitRunbook(c, before, after); err != nil {
		return err
	}
	roots := format.Roots(ops)
	switch owned := slices.Contains(roots, "owner"); {
	case owned && after.Owner != "" && after.Public:
		return fault.New(fault.Invalid, "Couldn't apply patch '/owner'. Reason: There cannot be an owner for a public runbook")
	case !owned && slices.Contains(roots, "public"):
		after.Owner = ""
	}
	return intent.RehideSteps(&after.Steps, &after.Hidden, before.Hidden)
}

// permitRunbook refuses an owner that the client may not give a runbook, and a public one of a client who may not make any. A new runbook
// without an owner gets the client's project.
func permitRunbook(c *gin.Context, before, after *node.Runbook) (err error) {
	if after.Public && !before.Public {
		if err := httpd.Permit(c, access.RunbookUpdatePublic, node.Owners{}); err != nil {
			return err
		}
	}
	switch all := access.RunbookUpdateOwner.AllowsAll(httpd.IdentityOf(c)); {
	case before.UUID == "":
		after.Owner, err = httpd.OwnProject(c, all, access.RunbookCreate, after.Owner)
	case before.Owner != after.Owner && !all:
		err = httpd.Denied(c, access.RunbookUpdateOwner)
	}
	return err
}
