package httpd

import (
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
)

const (
	loggerKey       = "logger"
	headerRequestID = "OpenStack-Request-Id"
)

// requestID is the form OpenStack gives to request ids; a caller's own is kept when it has it.
var requestID = regexp.MustCompile(`^req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$`)

// identified gives the request an id, for its answer and its log lines.
func (s *Server) identified(c *gin.Context) {
	id := "req-" + uuid.NewString()
	c.Header(headerRequestID, id)
	log := s.Log.With(zap.String("request_id", id))
	if global := c.GetHeader("X-" + headerRequestID); requestID.MatchString(global) {
		log = log.With(zap.String("global_request_id", global))
	}
	c.Set(loggerKey, log)
	format.SetPublicURL(c, s.PublicURL)
}

// Logger is the logger of a request. Its lines have the request's id.
func Logger(c *gin.Context) *zap.Logger {
	if log, ok := c.Value(loggerKey).(*zap.Logger); ok {
		return log
	}
	return zap.NewNop()
}

// Annotate adds fields to every later log line of the request.
func Annotate(c *gin.Context, fields ...zap.Field) {
	c.Set(loggerKey, Logger(c).With(fields...))
}

// secretParam is the parameter of a path that only its sender and its reader may know.
const secretParam = "secret"

// loggedPath returns the path of a request without its secret.
func loggedPath(c *gin.Context) string {
	path := c.Request.URL.Path
	if secret := c.Param(secretParam); secret != "" {
		path = strings.ReplaceAll(path, secret, "******")
	}
	return path
}
