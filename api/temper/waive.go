package temper

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/node"
)

// shownWaiver is what a node owed and owes no more.
type shownWaiver struct {
	NodeUUID string      `json:"node_uuid"`
	Waived   []node.Undo `json:"waived"`
	By       string      `json:"by"`
	Reason   string      `json:"reason"`
	// Operation is the undo that was under way and is asked to end; null = none was.
	Operation any `json:"operation"`
}

// waiveNode answers POST /temper/v1/nodes/X/waive: a person says that what
// earlier operations left half done need not be undone.
func (s *Server) waiveNode(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "reason")
	if err != nil {
		return 0, nil, err
	}
	reason := in.Reason()
	if in.Err == nil && reason == "" {
		in.Fail("A reason is required.")
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	ctx := c.Request.Context()
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	n, err := s.Store.Node(ctx, ident)
	if err != nil {
		return 0, nil, err
	}
	waived, undo, err := s.Store.Waive(ctx, n.UUID, httpd.By(c), reason)
	if err != nil {
		return 0, nil, err
	}
	out := shownWaiver{NodeUUID: n.UUID, Waived: waived, By: httpd.By(c), Reason: reason}
	httpd.Annotate(c, zap.String("node", n.UUID))
	httpd.Logger(c).Warn("undo waived", zap.String("owed", node.UndoList(waived)), zap.String("user", httpd.By(c)), zap.String("reason", reason))
	if undo != nil {
		out.Operation = strconv.FormatInt(undo.ID, 10)
		s.Nudge(c, undo)
	}
	return http.StatusOK, out, nil
}
