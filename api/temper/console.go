package temper

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
)

// shownConsole is the serial console of a node as clients see it.
type shownConsole struct {
	NodeUUID  string `json:"node_uuid"`
	NodeName  any    `json:"node_name"`
	Enabled   bool   `json:"enabled"`
	Conductor any    `json:"conductor"` // that holds it; null = no live one does
	Claim     any    `json:"claim"`     // number of this holding: a new one each time that a conductor begins to hold the console; null = none does
	URL       any    `json:"url"`       // null = no conductor listens
	Error     any    `json:"error"`     // null = the last try to listen or to open the BMC's console succeeded, or there was none
	ErrorAt   any    `json:"error_at"`
	NextAt    any    `json:"next_at"` // when it is tried again; null = when the next client connects
}

// getNodeConsole answers GET /temper/v1/nodes/X/console: who holds the console, where, and what went wrong last.
func (s *Server) getNodeConsole(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	held, err := s.Store.Console(c.Request.Context(), n.ID)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, shownConsole{
		NodeUUID: n.UUID, NodeName: format.OrNull(n.Name), Enabled: n.ConsoleEnabled,
		Conductor: format.OrNull(held.Conductor), Claim: format.NumberOrNull(int(held.Claim)), URL: format.OrNull(held.URL()),
		Error: format.OrNull(held.Error), ErrorAt: format.Timestamp(held.ErrorAt), NextAt: format.Timestamp(held.NextAt),
	}, nil
}
