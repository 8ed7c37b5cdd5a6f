package ironic

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// Indicators are the lights of a server. In paths they are NAME@COMPONENT.

// listIndicators answers GET /v1/nodes/X/management/indicators.
func (s *Server) listIndicators(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	read, err := s.ReadManagement(c, node.ReadIndicators, node.KindIndicator, "get_supported_indicators")
	if err != nil {
		return 0, nil, err
	}
	list := []any{}
	for _, i := range read.Indicators {
		name := i.Name + "@" + i.Component
		path := "nodes/" + url.PathEscape(c.Param("node")) + "/management/indicators/" + url.PathEscape(name)
		list = append(list, gin.H{"name": name, "component": i.Component, "readonly": false, "states": i.States, "links": format.Links(format.PublicURL(c), path)})
	}
	return http.StatusOK, gin.H{"indicators": list}, nil
}

// getIndicator answers GET /v1/nodes/X/management/indicators/I.
func (s *Server) getIndicator(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	name, component, err := indicatorOf(c)
	if err != nil {
		return 0, nil, err
	}
	read, err := s.ReadManagement(c, node.ReadIndicators, node.KindIndicator, "get_indicator_state")
	if err != nil {
		return 0, nil, err
	}
	for _, i := range read.Indicators {
		if i.Name == name && i.Component == component {
			return http.StatusOK, gin.H{"state": i.State}, nil
		}
	}
	return 0, nil, fault.Coded(fault.IndicatorRefused, "The server has no light %s of the component %s", format.Clip(name), format.Clip(component))
}

// putIndicator answers PUT /v1/nodes/X/management/indicators/I when the BMC has switched the light.
func (s *Server) putIndicator(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "state")
	if err != nil {
		return 0, nil, err
	}
	in.Require("state")
	state := strings.ToUpper(in.Text("state"))
	if states := []string{node.IndicatorBlinking, node.IndicatorOff, node.IndicatorOn}; !slices.Contains(states, state) {
		in.Fail("Invalid state %s requested for an indicator. Allowed states are: %s", format.Clip(state), strings.Join(states, ", "))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	name, component, err := indicatorOf(c)
	if err != nil {
		return 0, nil, err
	}
	return s.manage(c, node.KindIndicator, plan.Options{Args: map[string]any{
		node.ArgComponent: component, node.ArgIndicator: name, node.ArgState: state,
	}})
}

// indicatorOf takes the name of an indicator in a path apart.
func indicatorOf(c *gin.Context) (name, component string, err error) {
	unique := c.Param("indicator")
	name, component, ok := strings.Cut(unique, "@")
	if !ok || name == "" || len(unique) > format.MaxReason {
		err = fault.New(fault.Invalid, "Malformed indicator name %q", format.Clip(unique))
	}
	return name, component, err
}
