package ironic

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// Ironic lists the BIOS settings that were read before, whatever the node's driver (Ironic api/controllers/v1/bios.py). created_at is when
// they were read for the first time, updated_at when they were read last.

// minorBIOSDetail is the version that lets the list of BIOS settings have fields and detail.
const minorBIOSDetail = 74

// biosSetting is a setting with the reading that it is from.
type biosSetting struct {
	*node.BIOSSetting
	reading *node.KeptReading
}

// biosAttributes are the fields of a setting that clients choose. Times and links are always there.
var biosAttributes = format.Attributes[biosSetting, struct{}]{
	{Name: "name", Value: func(s *biosSetting) any { return s.Name }},
	{Name: "value", Value: func(s *biosSetting) any { return s.Value }},
	{Name: "attribute_type", Value: func(s *biosSetting) any { return s.Type }},
	{Name: "allowable_values", Value: func(s *biosSetting) any { return listOrNull(s.Allowed) }},
	{Name: "lower_bound", Value: func(s *biosSetting) any { return s.LowerBound }},
	{Name: "max_length", Value: func(s *biosSetting) any { return s.MaxLength }},
	{Name: "min_length", Value: func(s *biosSetting) any { return s.MinLength }},
	{Name: "read_only", Value: func(s *biosSetting) any { return s.ReadOnly }},
	{Name: "reset_required", Value: func(s *biosSetting) any { return s.ResetRequired }},
	{Name: "unique", Value: func(s *biosSetting) any { return s.Unique }},
	{Name: "upper_bound", Value: func(s *biosSetting) any { return s.UpperBound }},
}

func listOrNull(list []string) any {
	if list == nil {
		return nil
	}
	return list
}

// biosPlain are the fields of a setting where nobody asks for others.
var biosPlain = []string{"name", "value"}

func (s *biosSetting) show(c *gin.Context, n *node.Node, fields []*format.Attribute[biosSetting, struct{}]) map[string]any {
	out := kept(s.reading)
	out["links"] = format.Links(format.PublicURL(c), "nodes/"+n.UUID+"/bios/"+s.Name)
	for _, f := range fields {
		out[f.Name] = f.Value(s)
	}
	return out
}

// kept shows when something was read: for the first time and, if it was read again, last.
func kept(r *node.KeptReading) map[string]any {
	out := map[string]any{"created_at": format.Timestamp(&r.FirstAt), "updated_at": nil}
	if !r.ReadAt.Equal(r.FirstAt) {
		out["updated_at"] = format.Timestamp(&r.ReadAt)
	}
	return out
}

// biosSettings returns the settings of the node with that id as they were read last; none if they never were.
func (s *Server) biosSettings(ctx context.Context, id int64) ([]biosSetting, error) {
	r, err := s.Store.KeptReading(ctx, id, "bios")
	if err != nil || r == nil {
		return nil, err
	}
	var read node.BIOSReading
	if err := jsonvalue.Unmarshal(r.Data, &read); err != nil {
		return nil, err
	}
	out := make([]biosSetting, len(read.Settings))
	for i := range read.Settings {
		out[i] = biosSetting{&read.Settings[i], r}
	}
	return out, nil
}

// listBIOS answers GET /v1/nodes/X/bios.
func (s *Server) listBIOS(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "detail", "fields")
	q.RequireVersion(minorBIOSDetail, "fields")
	names := biosPlain
	switch detail := q.Boolean("detail"); {
	case detail == nil:
	case q.Minor < minorBIOSDetail:
		q.Fail("Invalid query parameter ?detail=%v received.", *detail)
	case *detail && q.Has("fields"):
		q.Fail("Can not specify ?detail=True and fields in the same request.")
	case *detail:
		names = nil
	}
	if q.Has("fields") {
		names = q.List("fields")
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	fields, err := biosAttributes.Fields(names, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	settings, err := s.biosSettings(c.Request.Context(), n.ID)
	if err != nil {
		return 0, nil, err
	}
	list := make([]any, len(settings))
	for i := range settings {
		list[i] = settings[i].show(c, n, fields)
	}
	return http.StatusOK, gin.H{"bios": list}, nil
}

// getBIOS answers GET /v1/nodes/X/bios/S.
func (s *Server) getBIOS(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c)
	if q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	settings, err := s.biosSettings(c.Request.Context(), n.ID)
	if err != nil {
		return 0, nil, err
	}
	names := biosPlain
	if q.Minor >= minorBIOSDetail {
		names = nil
	}
	fields, err := biosAttributes.Fields(names, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	for i := range settings {
		if name := c.Param("setting"); settings[i].Name == name {
			return http.StatusOK, gin.H{name: settings[i].show(c, n, fields)}, nil
		}
	}
	return 0, nil, fault.New(fault.NotFound, "Node %s doesn't have a BIOS setting '%s'", n.UUID, format.Clip(c.Param("setting")))
}
