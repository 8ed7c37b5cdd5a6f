package api

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

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
	in, err := readObject(c, maxBody, "reason")
	if err != nil {
		return 0, nil, err
	}
	reason := in.reason()
	if in.err == nil && reason == "" {
		in.fail("A reason is required.")
	}
	if in.err != nil {
		return 0, nil, in.err
	}
	ctx := c.Request.Context()
	ident, err := s.ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	n, err := s.Store.Node(ctx, ident)
	if err != nil {
		return 0, nil, err
	}
	waived, undo, err := s.Store.Waive(ctx, n.UUID, by(c), reason)
	if err != nil {
		return 0, nil, err
	}
	out := shownWaiver{NodeUUID: n.UUID, Waived: waived, By: by(c), Reason: reason}
	annotate(c, zap.String("node", n.UUID))
	logger(c).Warn("what a node owes is waived", zap.String("owed", node.Undos(waived)), zap.String("user", by(c)), zap.String("reason", reason))
	if undo != nil {
		out.Operation = strconv.FormatInt(undo.ID, 10)
		s.nudged(c, undo)
	}
	return http.StatusOK, out, nil
}
