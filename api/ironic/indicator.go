package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// listIndicators answers GET /v1/nodes/X/management/indicators.
func (s *Server) listIndicators(c *gin.Context) (int, any, error) {
	return s.unsupported(c, "get_supported_indicators")
}

// getIndicator answers GET /v1/nodes/X/management/indicators/I.
func (s *Server) getIndicator(c *gin.Context) (int, any, error) {
	return s.unsupported(c, "get_indicator_state")
}

// putIndicator answers PUT /v1/nodes/X/management/indicators/I.
func (s *Server) putIndicator(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "state")
	if err != nil {
		return 0, nil, err
	}
	in.Require("state")
	in.Text("state")
	if in.Err != nil {
		return 0, nil, in.Err
	}
	return s.unsupported(c, "set_indicator_state")
}
