package httpd

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/access"
)

// IdentityOf is who sends a request.
func IdentityOf(c *gin.Context) *access.Identity {
	if User(c) == "" {
		return access.Everybody()
	}
	return &access.Identity{User: User(c), Method: access.HTTPBasic, Grants: []access.Grant{{Role: access.Admin}}}
}
