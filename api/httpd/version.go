package httpd

import (
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
)

// versioned puts the range into every answer and, under /v1, refuses versions
// that are not served. Clients renegotiate from the headers of that very 406.
func (s *Server) versioned(c *gin.Context) {
	h := c.Writer.Header()
	h.Set(format.HeaderMinVersion, format.VersionString(format.MinMinor))
	h.Set(format.HeaderMaxVersion, format.VersionString(format.MaxMinor))
	path := c.Request.URL.Path
	if path != "/v1" && !strings.HasPrefix(path, "/v1/") {
		format.SetMinor(c, format.MaxMinor)
		return
	}
	minor, err := format.Negotiate(c.Request.Header)
	if err != nil {
		fail(c, err)
		return
	}
	h.Set(format.HeaderVersion, format.VersionString(minor))
	format.SetMinor(c, minor)
	if minor >= minorRequestID {
		h.Set("X-"+headerRequestID, h.Get(headerRequestID))
	}
}

// minorRequestID is the version whose answers have the id of the request under OpenStack's usual name, too.
const minorRequestID = 107

// since hides an endpoint from older versions: Ironic answers 404 there.
func since(first int, h Handler) Handler {
	return func(c *gin.Context) (int, any, error) {
		if format.Minor(c) < first {
			return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
		}
		return h(c)
	}
}
