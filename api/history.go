package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/node"
)

// maxShortEvent is how much of an event a list shows without detail, in characters.
const maxShortEvent = 255

// listHistory answers GET /v1/nodes/X/history.
func (s *Server) listHistory(c *gin.Context) (int, any, error) {
	q := readQuery(c, "detail", "marker", "limit")
	detail := q.boolean("detail")
	p := q.pageByUUID(s.MaxLimit, unsortable)
	if q.err != nil {
		return 0, nil, q.err
	}
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	events, err := s.Store.History(c.Request.Context(), n.UUID, p.store())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[node.HistoryEvent]{
		name: "history", path: "/v1/nodes/" + url.PathEscape(c.Param("node")) + "/history",
		marker: func(e *node.HistoryEvent) string { return e.UUID },
		show:   func(e *node.HistoryEvent) any { return s.eventBody(c, n, e, detail != nil && *detail) },
	}.body(q, p, events), nil
}

// getHistory answers GET /v1/nodes/X/history/UUID.
func (s *Server) getHistory(c *gin.Context) (int, any, error) {
	n, err := s.find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	e, err := s.Store.HistoryEvent(c.Request.Context(), n.UUID, strings.ToLower(c.Param("event")))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.eventBody(c, n, e, true), nil
}

func (s *Server) eventBody(c *gin.Context, n *node.Node, e *node.HistoryEvent, detail bool) map[string]any {
	base := publicURL(c)
	out := map[string]any{
		"uuid": e.UUID, "created_at": timestamp(&e.CreatedAt), "severity": orNull(e.Severity), "event": e.Event,
		"links": []link{{Href: base + "/v1/nodes/" + n.UUID + "/history/" + e.UUID, Rel: "self"}},
	}
	if !detail {
		if r := []rune(e.Event); len(r) > maxShortEvent {
			out["event"] = string(r[:maxShortEvent-4]) + "..."
		}
		return out
	}
	out["event_type"], out["conductor"], out["user"] = orNull(e.EventType), orNull(e.Conductor), orNull(e.User)
	return out
}
