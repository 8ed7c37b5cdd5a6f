package ironic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// driverSummary is a hardware type as the live conductors have it.
type driverSummary struct {
	name     string
	hosts    []string            // sorted
	enabled  map[string][]string // by interface, the first conductor's order
	defaults map[string]string   // the first conductor's
}

// drivers are the hardware types that live conductors have, sorted by name. An
// empty list tells clients that nothing can be done yet (Metal3 waits for one).
func driversIn(f *intent.Fleet) []*driverSummary {
	byName := map[string]*driverSummary{}
	hosts := slices.Clone(f.All)
	for _, c := range hosts {
		if !c.TakesWork() {
			continue
		}
		for name, enabled := range c.Interfaces {
			d := byName[name]
			if d == nil {
				d = &driverSummary{name: name, enabled: map[string][]string{}, defaults: map[string]string{}}
				byName[name] = d
			}
			d.hosts = append(d.hosts, c.Hostname)
			d.add(enabled)
		}
	}
	out := make([]*driverSummary, 0, len(byName))
	for _, d := range byName {
		slices.Sort(d.hosts)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *driverSummary) int { return strings.Compare(a.name, b.name) })
	return out
}

func (d *driverSummary) add(enabled map[string][]string) {
	for kind, impls := range enabled {
		for i, impl := range impls {
			if i == 0 && d.defaults[kind] == "" {
				d.defaults[kind] = impl
			}
			if !slices.Contains(d.enabled[kind], impl) {
				d.enabled[kind] = append(d.enabled[kind], impl)
			}
		}
	}
}

// body shows a driver. detail adds its interfaces.
func (d *driverSummary) body(base string, minor int, detail bool) map[string]any {
	out := map[string]any{"name": d.name, "hosts": d.hosts}
	if minor >= 14 {
		out["properties"] = format.Links(base, "drivers/"+d.name+"/properties")
	}
	if minor >= 30 {
		out["type"] = "dynamic"
	}
	if minor >= 30 && detail {
		for _, i := range interfaceKinds {
			// Interfaces of the first dynamic drivers show from 1.30 on, one
			// version before nodes show theirs.
			if i.since > 31 && i.since > minor {
				continue
			}
			out["default_"+i.name+"_interface"] = format.OrNull(d.defaults[i.name])
			out["enabled_"+i.name+"_interfaces"] = format.List(d.enabled[i.name])
		}
	}
	return out
}

// driverFields are the names ?fields= may have.
func driverFields(minor int) []string {
	out := []string{"name", "hosts", "properties", "type"}
	for _, i := range interfaceKinds {
		if i.since <= max(31, minor) {
			out = append(out, "default_"+i.name+"_interface", "enabled_"+i.name+"_interfaces")
		}
	}
	return out
}

// listDrivers answers GET /v1/drivers.
func (s *Server) listDrivers(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "type", "detail", "fields")
	q.RequireVersion(30, "type", "detail")
	q.RequireVersion(77, "fields")
	fields, detail, kind := q.List("fields"), q.Boolean("detail"), q.Text("type")
	switch {
	case kind != nil && *kind != "classic" && *kind != "dynamic":
		q.Fail("\"type\" filter must be one of \"classic\" or \"dynamic\", if specified.")
	case fields != nil && detail != nil && *detail:
		q.Fail("Can not specify ?detail=True and fields in the same request.")
	case fields != nil && q.Err == nil:
		q.Err = checkFields(fields, driverFields(q.Minor))
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	out := []map[string]any{}
	if kind == nil || *kind == "dynamic" {
		for _, d := range driversIn(fl) {
			out = append(out, s.driverBody(c, d, fields, detail != nil && *detail || fields != nil))
		}
	}
	return http.StatusOK, gin.H{"drivers": out}, nil
}

func (s *Server) driverBody(c *gin.Context, d *driverSummary, fields []string, detail bool) map[string]any {
	out := selected(d.body(format.PublicURL(c), format.Minor(c), detail), fields)
	out["links"] = format.Links(format.PublicURL(c), "drivers/"+d.name)
	return out
}

// getDriver answers GET /v1/drivers/NAME.
func (s *Server) getDriver(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "fields")
	q.RequireVersion(77, "fields")
	fields := q.List("fields")
	if q.Err == nil {
		q.Err = checkFields(fields, driverFields(q.Minor))
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	d, err := s.driver(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.driverBody(c, d, fields, true), nil
}

func (s *Server) driver(c *gin.Context) (*driverSummary, error) {
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return nil, err
	}
	name := c.Param("driver")
	for _, d := range driversIn(fl) {
		if d.name == name {
			return d, nil
		}
	}
	return nil, fault.New(fault.NotFound, "Could not find the following driver(s) or hardware type(s): %s.", format.Clip(name))
}

// getDriverProperties answers GET /v1/drivers/NAME/properties.
func (s *Server) getDriverProperties(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	d, err := s.driver(c)
	if err != nil {
		return 0, nil, err
	}
	hw, _ := node.Hardware(d.name) // a conductor of another version may have one that this one does not know
	properties := map[string]string{}
	for _, p := range hw.AllProperties() {
		properties[p.Name] = p.About
	}
	return http.StatusOK, properties, nil
}

// getLogicalDisk answers GET /v1/drivers/NAME/raid/logical_disk_properties, for the driver's default implementation of raid. If that
// has no RAID the answer is 404 and not 400, as in Ironic.
func (s *Server) getLogicalDisk(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	if format.Minor(c) < minorRAID {
		return 0, nil, format.TooNew(minorRAID)
	}
	d, err := s.driver(c)
	if err != nil {
		return 0, nil, err
	}
	n := &node.Node{Driver: d.name, Interfaces: d.defaults}
	properties := map[string]string{}
	for _, p := range n.Implementation("raid").LogicalDisk {
		properties[p.Name] = p.About
	}
	if len(properties) == 0 {
		return 0, nil, fault.CodedAs(fault.NotFound, fault.NotSupported, "%w", n.Unsupported("raid"))
	}
	return http.StatusOK, properties, nil
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
		return fault.New(fault.Invalid, "Field(s) \"%s\" are not valid", format.Clip(strings.Join(invalid, ", ")))
	}
	return nil
}
