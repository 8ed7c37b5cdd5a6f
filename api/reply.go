package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
)

// handler answers a request: a status and a body (nil = none), or an error.
type handler func(*gin.Context) (int, any, error)

// statuses is the one place where a kind of error becomes Ironic's HTTP status
// (Ironic common/exception.py).
var statuses = map[fault.Kind]int{
	fault.Internal:      http.StatusInternalServerError,
	fault.Invalid:       http.StatusBadRequest,
	fault.NotAllowed:    http.StatusBadRequest,
	fault.Unauthorized:  http.StatusUnauthorized,
	fault.Forbidden:     http.StatusForbidden,
	fault.NotFound:      http.StatusNotFound,
	fault.NotAcceptable: http.StatusNotAcceptable,
	fault.Conflict:      http.StatusConflict,
	fault.Lost:          http.StatusConflict,
	fault.TooLarge:      http.StatusRequestEntityTooLarge,
	fault.NoValidHost:   http.StatusNotFound,
	fault.Unavailable:   http.StatusServiceUnavailable,
	fault.Unreachable:   http.StatusServiceUnavailable,
	fault.Busy:          http.StatusServiceUnavailable,
}

func statusOf(err error) int {
	if status, ok := statuses[fault.KindOf(err)]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// answer turns a handler into gin's form.
func (s *Server) answer(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		status, body, err := h(c)
		switch {
		case err != nil:
			s.fail(c, err)
		case body == nil:
			c.Status(status)
			c.Writer.WriteHeaderNow()
		default:
			c.JSON(status, body)
		}
	}
}

// fail answers an error and ends the request. What is ours or a dependency's
// is logged whole here and told to the client in a few words.
func (s *Server) fail(c *gin.Context, err error) {
	status := statusOf(err)
	words, side := err.Error(), "Client"
	if status >= http.StatusInternalServerError {
		side = "Server"
		if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
			s.logger(c).Info("client went away", zap.String("path", c.Request.URL.Path))
		} else {
			s.logger(c).Error("request failed", zap.Int("status", status), zap.Error(err))
		}
		words = "Internal error"
		if status == http.StatusServiceUnavailable {
			words = unavailable(err)
		}
	}
	c.AbortWithStatusJSON(status, errorBody(side, words))
}

// errSilent tells the 503 that Temporal causes.
var errSilent = errors.New("temporal is away, or the workflow did not answer in time")

// silent is an error of Temporal as a request ends with it; what a workflow
// refused stays as it is.
func silent(err error) error {
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Unreachable) {
		return fault.New(fault.Unavailable, "%w: %v", errSilent, err)
	}
	return err
}

// laterError is an error that clients are told more of, where it is a 503.
type laterError struct {
	error
	words string // sentences for people, without addresses
}

func (e laterError) Unwrap() error { return e.error }

// unavailable is Ironic's sentence (common/exception.py, TemporaryFailure) and,
// where it is not the conductors that are away, what is.
func unavailable(err error) string {
	const words = "Resource temporarily unavailable, please retry."
	more := laterError{}
	switch {
	case errors.As(err, &more):
		return words + " " + more.words
	case errors.Is(err, errSilent):
		return words + " (Temporal is away, or the workflow did not answer in time)"
	case !fault.Is(err, fault.Unavailable) || errors.Is(err, errNoConductor):
		return words
	}
	return words + " (the database is away or busy)"
}

// errorBody is Ironic's: a string that is itself JSON, because clients parse it
// as such (python-ironicclient json.loads(body["error_message"])).
func errorBody(side, words string) map[string]string {
	inner, err := json.Marshal(struct {
		Faultcode   string  `json:"faultcode"`
		Faultstring string  `json:"faultstring"`
		Debuginfo   *string `json:"debuginfo"`
	}{side, words, nil})
	if err != nil {
		inner = []byte(`{"faultcode":"Server","faultstring":"Internal error","debuginfo":null}`)
	}
	return map[string]string{"error_message": string(inner)}
}
