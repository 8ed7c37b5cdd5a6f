package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// getStates answers GET /v1/nodes/X/states.
func (s *Server) getStates(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	v := &view{Node: n, minor: format.Minor(c), sight: sightOf(c, n)}
	out := make(map[string]any, len(stateFields))
	for _, f := range stateFields {
		if format.Minor(c) >= f.since {
			out[f.name] = nodeAttributes.Named(f.name).Value(v)
		}
	}
	return http.StatusOK, out, nil
}

// stateFields are the attributes that the states resource repeats.
var stateFields = []struct {
	name  string
	since int
}{
	{"console_enabled", 1},
	{"last_error", 1},
	{"power_state", 1},
	{"provision_state", 1},
	{"target_power_state", 1},
	{"target_provision_state", 1},
	{"provision_updated_at", 1},
	{"raid_config", 12},
	{"target_raid_config", 12},
	{"boot_mode", 75},
	{"secure_boot", 75},
}
