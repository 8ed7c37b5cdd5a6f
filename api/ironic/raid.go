package ironic

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
)

const minorRAID = 12

// putRAID answers PUT /v1/nodes/X/states/raid. If the driver does not support it, the answer is 404 and not 400, as in Ironic.
func (s *Server) putRAID(c *gin.Context) (int, any, error) {
	if _, err := format.ReadOpenObject(c, format.MaxBody); err != nil {
		return 0, nil, err
	}
	if format.Minor(c) < minorRAID {
		return 0, nil, format.TooNew(minorRAID)
	}
	_, _, err := s.unsupported(c, "raid")
	if fault.CodeOf(err) == fault.NotSupported {
		err = fault.CodedAs(fault.NotFound, fault.NotSupported, "%w", err)
	}
	return 0, nil, err
}
