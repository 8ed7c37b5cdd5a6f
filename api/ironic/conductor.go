package ironic

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/coverage"
)

type conductorAttribute = format.Attribute[coverage.Conductor, coverage.Conductor]

// conductorAttributes is the conductor resource (Ironic api/controllers/v1/conductor.py).
var conductorAttributes = format.Attributes[coverage.Conductor, coverage.Conductor]{
	{Name: "hostname", Since: minorConductors, Value: func(k *coverage.Conductor) any { return k.Hostname }},
	{Name: "conductor_group", Since: minorConductors, Value: func(k *coverage.Conductor) any { return k.Group }},
	{Name: "alive", Since: minorConductors, Value: func(k *coverage.Conductor) any { return k.Alive }, Nosort: true},
	{Name: "drivers", Since: minorConductors, Value: func(k *coverage.Conductor) any { return intent.DriversOf(k) }, Nosort: true},
	{Name: "created_at", Since: minorConductors, Value: func(k *coverage.Conductor) any { return format.Timestamp(&k.StartedAt) }},
	{Name: "updated_at", Since: minorConductors, Value: func(k *coverage.Conductor) any { return format.Timestamp(&k.HeartbeatAt) }},
}

// minorConductors is the version that added conductors.
const minorConductors = 49

// defaultConductorFields are what a list shows where nobody asks for more.
var defaultConductorFields = []string{"hostname", "conductor_group", "alive"}

func (s *Server) conductorBody(c *gin.Context, k *coverage.Conductor, attrs []*conductorAttribute) map[string]any {
	out := format.Show(k, attrs)
	out["links"] = format.Links(format.PublicURL(c), "conductors/"+k.Hostname)
	return out
}

// listConductors answers GET /v1/conductors. There are few, so a page is cut here.
func (s *Server) listConductors(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, slices.Concat(format.PageParameters, []string{"fields", "detail"})...)
	fields, detail := q.List("fields"), q.Boolean("detail")
	p := q.Page(s.MaxLimit, conductorAttributes.Sortable(q.Minor))
	if !q.Has("sort_key") {
		p.SortKey = "hostname" // people look for a name; the order in which they came says nothing
	}
	switch whole := detail != nil && *detail; {
	case whole && fields != nil:
		q.Fail("Can not specify ?detail=True and fields in the same request.")
	case !whole && fields == nil:
		fields = defaultConductorFields
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	attrs, err := conductorAttributes.Fields(fields, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.Conductors(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	sortConductors(all, p)
	if p.Marker != "" {
		at := slices.IndexFunc(all, func(k coverage.Conductor) bool { return k.Hostname == p.Marker })
		if at < 0 {
			return 0, nil, intent.ConductorNotFound(p.Marker)
		}
		all = all[at+1:]
	}
	all = all[:min(len(all), p.Limit)]
	return http.StatusOK, format.Collection[coverage.Conductor]{
		Name: "conductors", Path: "/v1/conductors", Marker: func(k *coverage.Conductor) string { return k.Hostname },
		Show: func(k *coverage.Conductor) any { return s.conductorBody(c, k, attrs) },
	}.Body(q, p, all), nil
}

func sortConductors(all []coverage.Conductor, p format.Page) {
	slices.SortStableFunc(all, func(a, b coverage.Conductor) int {
		by := 0
		switch p.SortKey {
		case "hostname":
			by = cmp.Compare(a.Hostname, b.Hostname)
		case "conductor_group":
			by = cmp.Compare(a.Group, b.Group)
		case "created_at":
			by = a.StartedAt.Compare(b.StartedAt)
		case "updated_at":
			by = a.HeartbeatAt.Compare(b.HeartbeatAt)
		}
		by = cmp.Or(by, cmp.Compare(a.ID, b.ID))
		if p.Desc {
			return -by
		}
		return by
	})
}

// getConductor answers GET /v1/conductors/NAME.
func (s *Server) getConductor(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "fields")
	fields := q.List("fields")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	attrs, err := conductorAttributes.Fields(fields, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	k, err := s.Store.Conductor(c.Request.Context(), c.Param("conductor"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.conductorBody(c, k, attrs), nil
}
