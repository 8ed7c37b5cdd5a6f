package temper

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// permitEnd refuses to end work that somebody else has requested, unless an administrator gives a reason. With noauth all
// clients have one name, so that each may end everything.
func permitEnd(c *gin.Context, o *node.Operation, reason string) error {
	id := httpd.IdentityOf(c)
	if id.Method == access.NoAuth || o.RequestedBy == "" || o.RequestedBy == id.User {
		return nil
	}
	audit.Of(c.Request.Context()).Ruled(access.OperationEndOthers.Name)
	if err := httpd.PermitTarget(c, access.OperationEndOthers); err != nil {
		return err
	}
	if reason == "" {
		return fault.New(fault.Invalid, "A reason is required to end an operation that somebody else requested: %s did.", format.Clip(o.RequestedBy))
	}
	return nil
}

// needReason refuses a request without a reason that changes other people's work. With noauth a reason would have no author.
func needReason(c *gin.Context, reason string) error {
	if reason == "" && httpd.IdentityOf(c).Method != access.NoAuth {
		return fault.New(fault.Invalid, "A reason is required.")
	}
	return nil
}
