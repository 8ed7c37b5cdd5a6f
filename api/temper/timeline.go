package temper

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/timeline"
)

// shownTimeline is the answer to GET /temper/v1/operations/ID/timeline.
type shownTimeline struct {
	Operation string        `json:"operation"`
	Timeline  []shownMoment `json:"timeline"`
}

// shownMoment is something that happened to an operation.
type shownMoment struct {
	At        any    `json:"at"`
	Until     any    `json:"until"`
	What      string `json:"what"`
	Step      any    `json:"step"`
	Conductor any    `json:"conductor"`
	Former    any    `json:"former"`
	By        any    `json:"by"`
	Text      string `json:"text"`
}

// getTimeline answers GET /temper/v1/operations/ID/timeline: everything that happened to
// the operation, oldest first. It is bounded, so that it has no pages.
func (s *Server) getTimeline(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	id, err := operationID(c)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	entries, err := s.Store.Timeline(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	outages, err := s.Store.Outages(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.Operation(ctx, id) // after the entries, so that none is newer than the operation
	if err != nil {
		return 0, nil, err
	}
	out := shownTimeline{Operation: strconv.FormatInt(id, 10), Timeline: []shownMoment{}}
	for _, m := range timeline.Of(o, entries, outages, s.Now()) {
		out.Timeline = append(out.Timeline, shownMoment{
			At: format.Timestamp(&m.At), Until: format.Timestamp(m.Until), What: m.What, Step: format.OrNull(m.Step), Conductor: format.OrNull(m.Conductor),
			Former: format.OrNull(m.Former), By: format.OrNull(m.By), Text: m.Text,
		})
	}
	return http.StatusOK, out, nil
}
