package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

var (
	conductorFields        = []string{"hostname", "conductor_group", "alive", "drivers", "created_at", "updated_at"}
	defaultConductorFields = []string{"hostname", "conductor_group", "alive"}
)

func (s *Server) conductorBody(c *gin.Context, k node.Conductor, fields []string) map[string]any {
	drivers := k.Drivers()
	slices.Sort(drivers)
	all := map[string]any{
		"hostname": k.Hostname, "conductor_group": k.Group, "alive": k.Alive, "drivers": drivers,
		"created_at": timestamp(&k.StartedAt), "updated_at": timestamp(&k.HeartbeatAt),
	}
	out := selected(all, fields)
	out["links"] = links(s.publicURL(c), "conductors/"+k.Hostname)
	return out
}

// selected keeps the fields of those names; nil = all.
func selected(all map[string]any, fields []string) map[string]any {
	if fields == nil {
		return all
	}
	out := make(map[string]any, len(fields)+1)
	for _, f := range fields {
		if v, ok := all[f]; ok {
			out[f] = v
		}
	}
	return out
}

// checkFields refuses ?fields= that a resource does not have.
func checkFields(fields, known []string) error {
	var invalid []string
	for _, f := range fields {
		if !slices.Contains(known, f) {
			invalid = append(invalid, f)
		}
	}
	if len(invalid) > 0 {
		return fault.New(fault.Invalid, "Field(s) \"%s\" are not valid", clip(strings.Join(invalid, ", ")))
	}
	return nil
}

// listConductors answers GET /v1/conductors. There are few, so a page is cut here.
func (s *Server) listConductors(c *gin.Context) (int, any, error) {
	q := readQuery(c, slices.Concat(pageParameters, []string{"fields", "detail"})...)
	fields, detail := q.list("fields"), q.boolean("detail")
	sortable := func(key string) error {
		if !slices.Contains([]string{"hostname", "conductor_group", "created_at", "updated_at"}, key) {
			return unsortable(key)
		}
		return nil
	}
	p := q.page(s.MaxLimit, sortable)
	if !q.has("sort_key") {
		p.sortKey = "hostname" // people look for a name; the order in which they came says nothing
	}
	switch {
	case q.err != nil:
	case fields != nil && detail != nil && *detail:
		q.fail("Can not specify ?detail=True and fields in the same request.")
	case fields != nil:
		q.err = checkFields(fields, conductorFields)
	case detail == nil || !*detail:
		fields = defaultConductorFields
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	all, err := s.Store.Conductors(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	sortConductors(all, p)
	if p.marker != "" {
		at := slices.IndexFunc(all, func(k node.Conductor) bool { return k.Hostname == p.marker })
		if at < 0 {
			return 0, nil, noConductor(p.marker)
		}
		all = all[at+1:]
	}
	all = all[:min(len(all), p.limit)]
	out := make([]map[string]any, 0, len(all))
	for _, k := range all {
		out = append(out, s.conductorBody(c, k, fields))
	}
	body := gin.H{"conductors": out}
	if len(all) == p.limit {
		body["next"] = s.publicURL(c) + "/v1/" + q.next("conductors", all[len(all)-1].Hostname, p.limit)
	}
	return http.StatusOK, body, nil
}

func sortConductors(all []node.Conductor, p page) {
	slices.SortStableFunc(all, func(a, b node.Conductor) int {
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
	if q.err == nil {
		q.err = checkFields(fields, conductorFields)
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	k, err := s.Store.Conductor(c.Request.Context(), c.Param("conductor"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.conductorBody(c, *k, fields), nil
}
