package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
)

type conductorAttribute = attribute[coverage.Conductor, coverage.Conductor]

// conductorAttributes is the conductor resource (Ironic api/controllers/v1/conductor.py).
var conductorAttributes = attributes[coverage.Conductor, coverage.Conductor]{
	{name: "hostname", since: minorConductors, value: func(k *coverage.Conductor) any { return k.Hostname }},
	{name: "conductor_group", since: minorConductors, value: func(k *coverage.Conductor) any { return k.Group }},
	{name: "alive", since: minorConductors, value: func(k *coverage.Conductor) any { return k.Alive }, nosort: true},
	{name: "drivers", since: minorConductors, value: func(k *coverage.Conductor) any { return driversOf(k) }, nosort: true},
	{name: "created_at", since: minorConductors, value: func(k *coverage.Conductor) any { return timestamp(&k.StartedAt) }},
	{name: "updated_at", since: minorConductors, value: func(k *coverage.Conductor) any { return timestamp(&k.HeartbeatAt) }},
}

// minorConductors is the version that added conductors.
const minorConductors = 49

// defaultConductorFields are what a list shows where nobody asks for more.
var defaultConductorFields = []string{"hostname", "conductor_group", "alive"}

// driversOf are the conductor's hardware types, sorted.
func driversOf(k *coverage.Conductor) []string {
	drivers := k.Drivers()
	slices.Sort(drivers)
	return drivers
}

func (s *Server) conductorBody(c *gin.Context, k *coverage.Conductor, attrs []*conductorAttribute) map[string]any {
	out := shown(k, attrs)
	out["links"] = links(publicURL(c), "conductors/"+k.Hostname)
	return out
}

// listConductors answers GET /v1/conductors. There are few, so a page is cut here.
func (s *Server) listConductors(c *gin.Context) (int, any, error) {
	q := readQuery(c, slices.Concat(pageParameters, []string{"fields", "detail"})...)
	fields, detail := q.list("fields"), q.boolean("detail")
	p := q.page(s.MaxLimit, conductorAttributes.sortable(q.minor))
	if !q.has("sort_key") {
		p.sortKey = "hostname" // people look for a name; the order in which they came says nothing
	}
	switch whole := detail != nil && *detail; {
	case whole && fields != nil:
		q.fail("Can not specify ?detail=True and fields in the same request.")
	case !whole && fields == nil:
		fields = defaultConductorFields
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	attrs, err := conductorAttributes.fields(fields, q.minor)
	if err != nil {
		return 0, nil, err
	}
	all, err := s.Store.Conductors(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	sortConductors(all, p)
	if p.marker != "" {
		at := slices.IndexFunc(all, func(k coverage.Conductor) bool { return k.Hostname == p.marker })
		if at < 0 {
			return 0, nil, noConductor(p.marker)
		}
		all = all[at+1:]
	}
	all = all[:min(len(all), p.limit)]
	return http.StatusOK, collection[coverage.Conductor]{
		name: "conductors", path: "/v1/conductors", marker: func(k *coverage.Conductor) string { return k.Hostname },
		show: func(k *coverage.Conductor) any { return s.conductorBody(c, k, attrs) },
	}.body(q, p, all), nil
}

func sortConductors(all []coverage.Conductor, p page) {
	slices.SortStableFunc(all, func(a, b coverage.Conductor) int {
		by := 0
		switch p.sortKey {
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
		if p.desc {
			return -by
		}
		return by
	})
}

func noConductor(name string) error {
	return fault.Coded(fault.ConductorNotFound, "Conductor %s could not be found.", clip(name))
}

// getConductor answers GET /v1/conductors/NAME.
func (s *Server) getConductor(c *gin.Context) (int, any, error) {
	q := readQuery(c, "fields")
	fields := q.list("fields")
	if q.err != nil {
		return 0, nil, q.err
	}
	attrs, err := conductorAttributes.fields(fields, q.minor)
	if err != nil {
		return 0, nil, err
	}
	k, err := s.Store.Conductor(c.Request.Context(), c.Param("conductor"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.conductorBody(c, k, attrs), nil
}
