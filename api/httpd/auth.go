package httpd

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/basicauth"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
)

// The authentication strategies, in Ironic's words.
const (
	NoAuth    = "noauth"
	HTTPBasic = "http_basic"
)

// Auth says who may ask. Without a way to log in, everybody is an administrator.
type Auth struct {
	Strategy string // noauth or http_basic. Default noauth
	// File is an htpasswd file of bcrypt entries (http_basic); re-read when it changes.
	File string
	// Others are further ways to log in. Each request is shown to all of them, and to http_basic, until one knows its credentials.
	Others []access.Authenticator
	// Assign adds the roles that somebody has whose credentials bring none along. Default: as in Ironic, whoever has a password by
	// http_basic is an administrator, and all others have no role.
	Assign func(*access.Identity)
	// Login lets people log in in a browser; nil = they can't.
	Login Login
}

// Login lets people log in in a browser: they begin here, come back from whoever knows them, and log out.
type Login interface {
	Begin(w http.ResponseWriter, r *http.Request)
	Callback(w http.ResponseWriter, r *http.Request)
	Logout(w http.ResponseWriter, r *http.Request)
}

// loginRoutes are those of Login. Without one they answer as paths without a route do.
func (a Auth) loginRoutes() []Route {
	of := func(handle func(Login) http.HandlerFunc) Handler {
		return func(c *gin.Context) (int, any, error) {
			if a.Login == nil {
				return NotFound(c)
			}
			return http.StatusOK, handle(a.Login), nil
		}
	}
	return []Route{
		Get("/temper/v1/login", 0, of(func(l Login) http.HandlerFunc { return l.Begin })).Open(),
		Get("/temper/v1/login/callback", 0, of(func(l Login) http.HandlerFunc { return l.Callback })).Open(),
		Post("/temper/v1/logout", 0, of(func(l Login) http.HandlerFunc { return l.Logout })).Open(),
	}
}

// authenticators are the ways to log in; none = no login is needed.
func (a Auth) authenticators(now func() time.Time, log *zap.Logger) ([]access.Authenticator, error) {
	switch a.Strategy {
	case "", NoAuth:
		return a.Others, nil
	case HTTPBasic:
		basic, err := basicauth.New(a.File, now, log)
		if err != nil {
			return nil, err
		}
		return append([]access.Authenticator{basic}, a.Others...), nil
	}
	return nil, fmt.Errorf("auth strategy %q: want %s or %s", a.Strategy, NoAuth, HTTPBasic)
}

// administrators makes everybody with a password an administrator.
func administrators(id *access.Identity) {
	if id.Method == access.HTTPBasic {
		id.Grants = append(id.Grants, access.Grant{Role: access.Admin})
	}
}

// authCodes are the codes of refusals, by their status.
var authCodes = map[int]fault.Code{
	http.StatusUnauthorized: fault.Unauthenticated, http.StatusTooManyRequests: fault.TooManyPasswords,
	http.StatusServiceUnavailable: fault.RequestBusy,
}

// noCredentials is Ironic's answer to a request that has none.
var noCredentials = &access.Refusal{Status: http.StatusUnauthorized, Message: "Authorization required"}

const identityKey = "identity"

// stranger is who sends a request for a route that needs no login: he has no role.
var stranger = &access.Identity{Method: access.NoAuth}

// IdentityOf is who sends a request.
func IdentityOf(c *gin.Context) *access.Identity {
	if id, ok := c.Value(identityKey).(*access.Identity); ok {
		return id
	}
	return stranger
}

// User is the name that the client logged in with; "" if no login is needed.
func User(c *gin.Context) string {
	if id := IdentityOf(c); id.Method != access.NoAuth {
		return id.User
	}
	return ""
}

// By is User, or a general name if that is "".
func By(c *gin.Context) string { return IdentityOf(c).By() }

// authenticated refuses a request without a valid login. The body of the refusal is that
// of Ironic's basic-auth middleware, which differs from Ironic's other errors.
func (s *Server) authenticated(c *gin.Context) {
	if s.isOpen(c.Request.URL.Path) {
		return
	}
	id, refusal := s.identify(c.Request)
	if refusal == nil {
		c.Set(identityKey, id)
		return
	}
	h := c.Writer.Header()
	if refusal.Status == http.StatusUnauthorized {
		for _, a := range s.logins {
			if challenge := a.Challenge(); challenge != "" && !slices.Contains(h.Values("WWW-Authenticate"), challenge) {
				h.Add("WWW-Authenticate", challenge)
			}
		}
	}
	if refusal.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(refusal.RetryAfter.Seconds()))))
	}
	c.AbortWithStatusJSON(refusal.Status, gin.H{
		"error": gin.H{"message": refusal.Message, "code": refusal.Status}, "code": authCodes[refusal.Status], "help": []help.Item{},
	})
}

// identify returns who sends a request, with his roles.
func (s *Server) identify(r *http.Request) (*access.Identity, *access.Refusal) {
	if len(s.logins) == 0 {
		return access.Everybody(), nil
	}
	for _, a := range s.logins {
		id, refusal := a.Authenticate(r)
		if refusal != nil {
			return nil, refusal
		}
		if id != nil {
			s.assign(id)
			return id, nil
		}
	}
	return nil, noCredentials
}

// lasts reports whether a request would still be let in that once was. known is false if that can't be said now, because somebody sends
// too many wrong passwords, or whoever knows the users is away.
func (s *Server) lasts(r *http.Request, was *access.Identity) (lasts, known bool) {
	id, refusal := s.identify(r)
	if refusal != nil {
		return false, refusal.Status == http.StatusUnauthorized
	}
	return id.User == was.User && slices.Equal(id.Grants, was.Grants), true
}
