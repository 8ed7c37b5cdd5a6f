package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
)

// Ironic lists the BIOS settings that were read before. Nothing reads them yet, so the list is empty, whatever the
// node's driver (Ironic api/controllers/v1/bios.py).

// minorBIOSDetail is the version that lets the list of BIOS settings have fields and detail.
const minorBIOSDetail = 74

// listBIOS answers GET /v1/nodes/X/bios.
func (s *Server) listBIOS(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "detail", "fields")
	q.RequireVersion(minorBIOSDetail, "fields")
	switch detail := q.Boolean("detail"); {
	case detail == nil:
	case q.Minor < minorBIOSDetail:
		q.Fail("Invalid query parameter ?detail=%v received.", *detail)
	case *detail && q.Has("fields"):
		q.Fail("Can not specify ?detail=True and fields in the same request.")
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	if _, err := s.Find(c, c.Param("node")); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"bios": []any{}}, nil
}

// getBIOS answers GET /v1/nodes/X/bios/S.
func (s *Server) getBIOS(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return 0, nil, fault.New(fault.NotFound, "Node %s doesn't have a BIOS setting '%s'", n.UUID, format.Clip(c.Param("setting")))
}
