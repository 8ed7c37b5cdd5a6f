package httpd

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
)

// StreamHandler answers a request with a stream. It sets the headers, sends, and
// returns when the stream is over or the request's context is done. An error before
// the first Send is answered like that of any handler.
type StreamHandler func(*gin.Context, *Stream) error

// Why a stream has ended before its handler wanted: the cause of the context that the
// handler sees, and what Send returns.
var (
	ErrStopping   = errors.New("the server is stopping")
	ErrIdleStream = errors.New("the stream sent nothing for too long")
	ErrLoginEnded = errors.New("what the stream was opened with is not valid any more: the user, the password or token, or the roles")
)

// Stream is an answer without a deadline for the whole of it. Each write has a deadline
// (StreamWriteTimeout), so that a client that does not read ends it. A stream that sends
// nothing for StreamIdleTimeout ends too: a handler that has nothing to say sends a
// comment of text/event-stream now and then. Its methods are for one goroutine.
type Stream struct {
	ctx     context.Context
	writer  gin.ResponseWriter
	control *http.ResponseController
	write   time.Duration
	silence time.Duration
	idle    *time.Timer
}

// Send writes p to the client and returns when it is on its way. Its errors are
// ErrStopping, ErrIdleStream, ErrLoginEnded, context.Canceled for a client that went away, and
// os.ErrDeadlineExceeded for one that does not read.
func (s *Stream) Send(p []byte) error {
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	s.limitWrite()
	s.writer.WriteHeaderNow() // gin's status and headers, also before an empty first write
	if _, err := s.writer.Write(p); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil {
		return err
	}
	s.idle.Reset(s.silence)
	return nil
}

// limitWrite replaces the deadline that http.Server set for the whole answer. A
// ResponseWriter without deadlines, as in some tests, has none to replace.
func (s *Stream) limitWrite() {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.write))
}

// belowGin is the writer that gin's writer wraps. Gin's own Flush drops the error, and an answer that fits the server's
// buffer fails only when it is flushed.
func belowGin(w gin.ResponseWriter) http.ResponseWriter {
	if u, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		return u.Unwrap()
	}
	return w
}

// unknownLooks is how many times in a row a stream goes on although it can't be said whether its login is still valid.
const unknownLooks = 12

// watchLogin ends a stream when the login that it was opened with is not valid any more. The function that it returns ends the
// watching.
func (s *Server) watchLogin(c *gin.Context, end context.CancelCauseFunc) (stop func()) {
	if len(s.logins) == 0 {
		return func() {}
	}
	id, request := IdentityOf(c), c.Request.Clone(s.stopping) // the context of the request's own ends with the stream
	var mu sync.Mutex
	var timer *time.Timer
	stopped, unknown := false, 0
	check := func() {
		lasts, known := s.lasts(request, id)
		mu.Lock()
		defer mu.Unlock()
		if unknown++; known {
			unknown = 0
		}
		switch {
		case stopped:
		case lasts, !known && unknown <= unknownLooks:
			timer.Reset(s.StreamLoginInterval)
		default:
			end(ErrLoginEnded)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(s.StreamLoginInterval, check)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// streamed turns a StreamHandler into gin's form.
func (s *Server) streamed(h StreamHandler) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, end := context.WithCancelCause(c.Request.Context())
		defer end(nil)
		defer context.AfterFunc(s.stopping, func() { end(ErrStopping) })()
		if s.stopping.Err() != nil { // AfterFunc would end it only some time later
			end(ErrStopping)
		}
		c.Request = c.Request.WithContext(ctx)
		out := &Stream{
			ctx: ctx, writer: c.Writer, control: http.NewResponseController(belowGin(c.Writer)),
			write: s.StreamWriteTimeout, silence: s.StreamIdleTimeout,
		}
		// http.Server watches the connection by reading it: were its deadline of the
		// request left, it would take the client for gone then.
		_ = out.control.SetReadDeadline(time.Time{})
		out.limitWrite()
		out.idle = time.AfterFunc(s.StreamIdleTimeout, func() { end(ErrIdleStream) })
		defer out.idle.Stop()
		defer s.watchLogin(c, end)()
		err := h(c, out)
		out.limitWrite() // for what http.Server still has to write
		switch {
		case err == nil:
		case !c.Writer.Written():
			c.Writer.Header().Del("Content-Type") // the stream's: an error is JSON
			// A handler may return its context's error instead of the cause.
			if errors.Is(context.Cause(ctx), ErrStopping) && (errors.Is(err, ErrStopping) || errors.Is(err, context.Canceled)) {
				err = fault.Coded(fault.ServiceUnavailable, "%w", ErrStopping)
			}
			fail(c, err)
		default:
			Logger(c).Info("stream ended", zap.Error(err))
		}
	}
}
