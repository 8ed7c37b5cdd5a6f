package ironic

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// A list without detail shows an event of more than maxShortEvent characters cut to cutEvent
// (Ironic api/controllers/v1/node.py: 251 and "...").
const maxShortEvent, cutEvent = 255, 254

// minorHistoryProject is the version in which events have the project of their user.
const minorHistoryProject = 113

// minorHistoryState is the version in which events have the state of their node.
const minorHistoryState = 115

// listHistory answers GET /v1/nodes/X/history.
func (s *Server) listHistory(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "detail", "marker", "limit")
	detail := q.Boolean("detail")
	p := q.PageByUUID(s.MaxLimit, format.Unsortable)
	if q.Err != nil {
		return 0, nil, q.Err
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	events, err := s.Store.History(c.Request.Context(), n.UUID, p.Of(nil))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[node.HistoryEvent]{
		Name: "history", Path: "/v1/nodes/" + url.PathEscape(c.Param("node")) + "/history",
		Marker: func(e *node.HistoryEvent) string { return e.UUID },
		Show:   func(e *node.HistoryEvent) any { return s.eventBody(c, n, e, detail != nil && *detail) },
	}.Body(q, p, events), nil
}

// getHistory answers GET /v1/nodes/X/history/UUID.
func (s *Server) getHistory(c *gin.Context) (int, any, error) {
	n, err := s.Find(c, c.Param("node"))
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
	base := format.PublicURL(c)
	out := map[string]any{
		"uuid": e.UUID, "created_at": format.Timestamp(&e.CreatedAt), "severity": format.OrNull(e.Severity), "event": e.Event,
		"links": []format.Link{{Href: base + "/v1/nodes/" + n.UUID + "/history/" + e.UUID, Rel: "self"}},
	}
	if !detail {
		if utf8.RuneCountInString(e.Event) > maxShortEvent {
			out["event"] = text.TruncateRunesTo(e.Event, cutEvent, "...")
		}
		return out
	}
	out["event_type"], out["conductor"], out["user"] = format.OrNull(e.EventType), format.OrNull(e.Conductor), format.OrNull(e.User)
	if format.Minor(c) >= minorHistoryProject {
		out["project"] = nil // without keystone no user is in a project
	}
	if format.Minor(c) >= minorHistoryState {
		out["provision_state"], out["target_provision_state"] = format.OrNull(string(e.State)), format.OrNull(string(e.TargetState))
		out["duration"] = nil
		if e.Lasted != nil {
			out["duration"] = *e.Lasted
		}
	}
	return out
}
