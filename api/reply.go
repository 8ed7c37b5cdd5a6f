package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonlimit"
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
			fail(c, err)
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
func fail(c *gin.Context, err error) {
	status := statusOf(err)
	code, words, side := fault.CodeOf(err), err.Error(), "Client"
	if status >= http.StatusInternalServerError {
		side = "Server"
		if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
			logger(c).Info("client went away", zap.String("path", c.Request.URL.Path))
		} else if errors.Is(err, jsonlimit.ErrBusy) { // as often as strangers like
			logger(c).Info("request put off", zap.Int("status", status), zap.Error(err))
		} else {
			logger(c).Error("request failed", zap.Int("status", status), zap.Error(err))
		}
		words = "Internal error"
		if status == http.StatusServiceUnavailable {
			words = unavailable(c, code)
		}
	}
	c.AbortWithStatusJSON(status, errorBody(side, words, code, helpOf(err)))
}

// silent is an error of Temporal as a request ends with it; what a workflow
// refused stays as it is.
func silent(err error) error {
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Unreachable) {
		return fault.Coded(fault.TemporalUnavailable, "%w", err)
	}
	return err
}

// unavailable is Ironic's sentence (common/exception.py, TemporaryFailure), and
// under /temper/v1 what the code means.
func unavailable(c *gin.Context, code fault.Code) string {
	words := "Resource temporarily unavailable, please retry."
	if strings.HasPrefix(c.Request.URL.Path, "/temper/") {
		words += " " + code.Meaning()
	}
	return words
}

// shownError is the body of an error. Ironic's part is a string that is itself
// JSON, because clients parse it as such (python-ironicclient
// json.loads(body["error_message"])). Code and help are for programs: nobody has
// to read the words.
type shownError struct {
	Message string     `json:"error_message"`
	Code    fault.Code `json:"code"`
	Help    []help     `json:"help"`
}

func errorBody(side, words string, code fault.Code, h []help) shownError {
	inner, err := json.Marshal(struct {
		Faultcode   string  `json:"faultcode"`
		Faultstring string  `json:"faultstring"`
		Debuginfo   *string `json:"debuginfo"`
	}{side, words, nil})
	if err != nil {
		inner = []byte(`{"faultcode":"Server","faultstring":"Internal error","debuginfo":null}`)
	}
	return shownError{string(inner), code, list(h)}
}
