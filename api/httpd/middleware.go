package httpd

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/origin"
)

// bounded gives the request a deadline, unless it is for a stream.
func (s *Server) bounded(c *gin.Context) {
	if s.routeOf(c).stream == nil {
		ctx, cancel := context.WithTimeout(c.Request.Context(), s.RequestTimeout)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
	}
	c.Next()
}

// guarded refuses requests that a browser sends for a web page of another origin. On
// loopback, without authentication, any page that the operator visits could otherwise
// do what the operator may. The content type is not checked: curl -d sends JSON as a
// form, and a browser always says which origin a request is from.
func guarded(c *gin.Context, r Route, by *origin.Guard) {
	check := by.Check
	if r.secret {
		check = by.CheckAll
	}
	if refusal := check(c.Request); refusal != nil {
		code := fault.CrossOrigin
		if refusal.Status == http.StatusMisdirectedRequest {
			code = fault.UnknownHost
		}
		c.AbortWithStatusJSON(refusal.Status, format.ErrorBody("Client", refusal.Message, code, nil))
	}
}

// recovered answers a panic with 500 and logs where it came from.
func (s *Server) recovered(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		Logger(c).Error("handler panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		if !c.Writer.Written() {
			fail(c, fault.New(fault.Internal, "panic: %v", p))
		}
	}()
	c.Next()
}
