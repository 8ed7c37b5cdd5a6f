package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/tg123/go-htpasswd"
	"go.uber.org/zap"
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

// authenticator checks names and passwords against an htpasswd file.
type authenticator struct {
	path string
	log  *zap.Logger
	file *htpasswd.File // nil: everybody may

	mu   sync.Mutex
	seen time.Time // modification time of the file that is loaded
}

func newAuthenticator(a Auth, log *zap.Logger) (*authenticator, error) {
	switch a.Strategy {
	case "", NoAuth:
		return &authenticator{}, nil
	case HTTPBasic:
	default:
		return nil, fmt.Errorf("auth strategy %q: want %s or %s", a.Strategy, NoAuth, HTTPBasic)
	}
	var bad error
	info, err := os.Stat(a.File)
	if err != nil {
		return nil, fmt.Errorf("htpasswd file: %w", err)
	}
	// What is wrong with a line is not said: the library's words hold the hash.
	file, err := htpasswd.New(a.File, []htpasswd.PasswdParser{htpasswd.AcceptBcrypt}, func(error) {
		bad = errors.New("a line is not user:bcrypt-hash")
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("htpasswd file %s: %w", a.File, err)
	}
	return &authenticator{path: a.File, log: log, file: file, seen: info.ModTime()}, nil
}

// matches reports whether the password is the user's, re-reading a changed file first.
func (a *authenticator) matches(user, password string) bool {
	a.refresh()
	return a.file.Match(user, password)
}

func (a *authenticator) refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := os.Stat(a.path)
	if err != nil || info.ModTime().Equal(a.seen) {
		return
	}
	skipped := 0
	if err := a.file.Reload(func(error) { skipped++ }); err != nil {
		a.log.Warn("htpasswd file not read again, the old entries stay", zap.Error(err))
		return
	}
	a.seen = info.ModTime()
	a.log.Info("htpasswd file read again", zap.Int("lines_skipped", skipped))
}

// open are the paths that need no name, as in Ironic (api/config.py acl_public_routes);
// agents have only their token.
func open(path string) bool {
	switch path {
	case "/", "/v1", "/v1/lookup", "/v1/continue_inspection", "/temper/v1/healthz", "/temper/v1/readyz":
		return true
	}
	return strings.HasPrefix(path, "/v1/heartbeat/")
}

const userKey = "user"

// user is who asks; "" where nobody has to say.
func user(c *gin.Context) string { return c.GetString(userKey) }

// authenticated lets a request pass or answers 401 in the words of Ironic's
// basic-auth middleware, which are not its error body.
func (s *Server) authenticated(c *gin.Context) {
	if s.auth.file == nil || open(c.Request.URL.Path) {
		return
	}
	name, password, ok := c.Request.BasicAuth()
	words := ""
	switch {
	case !ok:
		words = "Authorization required"
	case !s.auth.matches(name, password):
		words = "Incorrect username or password"
	default:
		c.Set(userKey, name)
		return
	}
	c.Header("WWW-Authenticate", `Basic realm="Baremetal API"`)
	c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": gin.H{"message": words, "code": http.StatusUnauthorized}})
}
