package intent

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
)

// HeaderCompute names the compute service that claims a node.
const HeaderCompute = "Temper-Compute-Service"

// SpeaksFor returns an error if the client may not speak for a compute service. Whoever has registered it speaks for it, and administrators
// do: a stolen password of one service must not take the nodes of another.
func (s *Service) SpeaksFor(c *gin.Context, host string) error {
	id := httpd.IdentityOf(c)
	if id.Method == access.NoAuth || access.ComputeSet.AllowsAll(id) {
		return nil
	}
	user, err := s.Store.ComputeUser(c.Request.Context(), host)
	if err == nil && user != "" && user != id.User {
		err = fault.Coded(fault.ForbiddenRequest, "Another user speaks for compute service %s. Forget the service to let somebody else register it.", format.Clip(host))
	}
	return err
}
