package temper

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// noError stands in the place of an error that the client may not read, as in Ironic's last_error.
const noError = "** Value Redacted - Requires baremetal:node:get:last_error permission. **"

// readOperation reads an operation as the client may see it.
func (s *Server) readOperation(c *gin.Context, id int64) (*node.Operation, error) {
	o, err := s.Store.Operation(c.Request.Context(), id)
	if err != nil {
		return nil, err
	}
	one := []node.Operation{*o}
	return &one[0], s.hideErrors(c, one)
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
		o.Error = noError
	}
	for i := range o.Steps {
		st := &o.Steps[i]
		st.Conductor, st.Note, st.Deaths = "", "", nil
		if st.LastError != "" {
			st.LastError = noError
		}
	}
	for i := range o.Decisions {
		if o.Decisions[i].Error != "" {
			o.Decisions[i].Error = noError
		}
	}
}
