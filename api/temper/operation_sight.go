package temper

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// readOperation reads an operation as the client may see it.
func (s *Server) readOperation(c *gin.Context, id int64) (*node.Operation, error) {
	o, err := s.Store.Operation(c.Request.Context(), id)
	if err != nil {
		return nil, err
	}
	one := []node.Operation{*o}
	return &one[0], s.hideErrors(c, one)
}

// acceptedOperation answers 202 with an operation as the client may see it.
func (s *Server) acceptedOperation(c *gin.Context, o *node.Operation, fl *intent.Fleet) (int, any, error) {
	one := []node.Operation{*o}
	if err := s.hideErrors(c, one); err != nil {
		httpd.Logger(c).Warn("it is not known what of the operation the client may see; it gets the least", zap.Error(err))
		hide(&one[0])
	}
	return http.StatusAccepted, s.showOperation(&one[0], fl), nil
}

// hideErrors takes from operations what the client may not read of them: of the nodes that its projects only lease, errors, conductors and
// workflows. They tell of the network of the BMCs, as last_error does.
func (s *Server) hideErrors(c *gin.Context, ops []node.Operation) error {
	if access.NodeGetAll.AllowsAll(httpd.IdentityOf(c)) {
		return nil
	}
	var uuids []string
	for i := range ops {
		uuids = append(uuids, ops[i].NodeUUID)
	}
	owners, err := s.Store.OwnersOfNodes(c.Request.Context(), uuids)
	if err != nil {
		return err
	}
	for i := range ops {
		if !access.NodeGetLastError.Allows(httpd.IdentityOf(c), owners[ops[i].NodeUUID]) {
			hide(&ops[i])
		}
	}
	return nil
}

func hide(o *node.Operation) {
	o.Conductor, o.WorkflowID, o.RunID, o.StepWait, o.TemporalPause = "", "", "", nil, nil
	if o.Error != "" {
		o.Error = format.NoLastError
	}
	o.Steps, o.Decisions = slices.Clone(o.Steps), slices.Clone(o.Decisions)
	for i := range o.Steps {
		st := &o.Steps[i]
		st.Conductor, st.Note, st.Deaths = "", "", nil
		if st.LastError != "" {
			st.LastError = format.NoLastError
		}
	}
	for i := range o.Decisions {
		if o.Decisions[i].Error != "" {
			o.Decisions[i].Error = format.NoLastError
		}
	}
}
