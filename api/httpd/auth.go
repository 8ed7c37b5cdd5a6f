package httpd

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/basicauth"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// The authentication strategies, in Ironic's words.
const (
	NoAuth    = "noauth"
	HTTPBasic = "http_basic"
)

// Auth says who may ask.
type Auth struct {
	Strategy string // noauth or http_basic. Default noauth
	// File is an htpasswd file of bcrypt entries (http_basic); re-read when it changes.
	File string
}

// newAuthenticator returns nil if no login is needed.
func newAuthenticator(a Auth, now func() time.Time, log *zap.Logger) (*basicauth.Authenticator, error) {
	switch a.Strategy {
	case "", NoAuth:
		return nil, nil
	case HTTPBasic:
		return basicauth.New(a.File, now, log)
	}
	return nil, fmt.Errorf("auth strategy %q: want %s or %s", a.Strategy, NoAuth, HTTPBasic)
}

// authCodes are the codes of refusals, by their status.
var authCodes = map[int]fault.Code{
	http.StatusUnauthorized: fault.Unauthenticated, http.StatusTooManyRequests: fault.TooManyPasswords,
	http.StatusServiceUnavailable: fault.RequestBusy,
}

const (
	userKey  = "user"
	loginKey = "login" // of a stream's request
)

// User is the name that the client logged in with; "" if no login is needed.
func User(c *gin.Context) string { return c.GetString(userKey) }

// authenticated refuses a request without a valid login. The body of the refusal is that
// of Ironic's basic-auth middleware, which differs from Ironic's other errors.
func (s *Server) authenticated(c *gin.Context) {
	if s.auth == nil || s.isOpen(c.Request.URL.Path) {
		return
	}
	if s.routeOf(c).stream != nil {
		c.Set(loginKey, s.auth.LoginOf(c.Request))
	}
	name, refusal := s.auth.Check(c.Request)
	if refusal == nil {
		c.Set(userKey, name)
		return
	}
	refusal.Header(c.Writer.Header())
	c.AbortWithStatusJSON(refusal.Status, gin.H{
		"error": gin.H{"message": refusal.Message, "code": refusal.Status}, "code": authCodes[refusal.Status], "help": []help.Item{},
	})
}

// By is User, or a general name if that is "".
func By(c *gin.Context) string {
	if u := User(c); u != "" {
		return u
	}
	return node.Anonymous
}
