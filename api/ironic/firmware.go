package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// listFirmware answers GET /v1/nodes/X/firmware with the versions that were read last, whatever the node's driver and the version (Ironic
// api/controllers/v1/firmware.py).
func (s *Server) listFirmware(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	r, err := s.Store.KeptReading(c.Request.Context(), n.ID, "firmware")
	if err != nil {
		return 0, nil, err
	}
	list := []any{}
	if r != nil {
		var read node.FirmwareReading
		if err := jsonvalue.Unmarshal(r.Data, &read); err != nil {
			return 0, nil, err
		}
		for _, f := range read.Components {
			one := kept(r)
			one["component"], one["initial_version"], one["current_version"] = f.Component, f.Initial, f.Current
			one["last_version_flashed"] = format.OrNull(f.Flashed)
			list = append(list, one)
		}
	}
	return http.StatusOK, gin.H{"firmware": list}, nil
}
