package temper

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/coverage"
)

// getCoverage answers GET /temper/v1/coverage: which live conductors have which
// interface of which driver, and how many nodes need it.
func (s *Server) getCoverage(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	ctx := c.Request.Context()
	served, err := s.Store.Served(ctx)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(ctx)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"coverage": coverageOf(fl, served)}, nil
}

// covered is a row of the coverage.
type covered struct {
	Group  string `json:"conductor_group"`
	Driver string `json:"driver"`
	// Interfaces: interface -> implementation -> conductors.
	Interfaces  map[string]map[string][]string `json:"interfaces"`
	Conductors  []string                       `json:"conductors"`
	Nodes       int                            `json:"nodes"`
	Quarantined int                            `json:"quarantined"`
}

func coverageOf(f *intent.Fleet, served []coverage.Served) []covered {
	out := []covered{}
	row := func(group, driver string) *covered {
		for i := range out {
			if out[i].Group == group && out[i].Driver == driver {
				return &out[i]
			}
		}
		out = append(out, covered{Group: group, Driver: driver, Interfaces: map[string]map[string][]string{}, Conductors: []string{}})
		return &out[len(out)-1]
	}
	for _, v := range served {
		r := row(v.Group, v.Driver)
		r.Nodes, r.Quarantined = v.Nodes, v.Quarantined
	}
	for _, k := range f.All { // by name
		if !k.TakesWork() {
			continue
		}
		for driver, enabled := range k.Interfaces {
			row(k.Group, driver).add(k.Hostname, enabled)
		}
	}
	slices.SortFunc(out, func(a, b covered) int {
		if a.Group != b.Group {
			return strings.Compare(a.Group, b.Group)
		}
		return strings.Compare(a.Driver, b.Driver)
	})
	return out
}

func (r *covered) add(host string, enabled map[string][]string) {
	r.Conductors = append(r.Conductors, host)
	for kind, impls := range enabled {
		if r.Interfaces[kind] == nil {
			r.Interfaces[kind] = map[string][]string{}
		}
		for _, impl := range impls {
			r.Interfaces[kind][impl] = append(r.Interfaces[kind][impl], host)
		}
	}
}
