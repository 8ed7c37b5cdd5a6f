package httpd

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// jsonType is the content type of answers, as gin's c.JSON writes it.
const jsonType = "application/json; charset=utf-8"

// Handler answers a request: a status and a body, which is written as JSON (nil = none),
// or an error. A body that is an http.Handler writes the answer itself, status
// included: a page, a file (http.FileServerFS). A body that is a format.Parts is sent
// while it is made, and one that is a jsonvalue.Text as it is.
type Handler func(*gin.Context) (int, any, error)

// answer turns a handler into gin's form.
func answer(h Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		status, body, err := h(c)
		self, isHandler := body.(http.Handler)
		parts, inParts := body.(format.Parts)
		text, isText := body.(jsonvalue.Text)
		switch {
		case err != nil:
			fail(c, err)
		case isHandler:
			self.ServeHTTP(c.Writer, c.Request)
		case inParts:
			sendParts(c, status, parts)
		case isText:
			c.Data(status, jsonType, text)
		case body == nil:
			c.Status(status)
			c.Writer.WriteHeaderNow()
		default:
			c.JSON(status, body)
		}
	}
}

// ofHardware reports whether err says what hardware answered, or that its answer was lost. The client gets the text of such an
// error, although its status is 500, as from Ironic.
func ofHardware(err error) bool {
	return fault.Is(err, fault.Refused) || fault.Is(err, fault.OutcomeUnknown)
}

// fail answers an error and ends the request. An error that is not the client's is logged
// whole here, and the client gets a general sentence, unless ofHardware is true.
func fail(c *gin.Context, err error) {
	status := format.StatusOf(err)
	code, words, side := fault.CodeOf(err), err.Error(), "Client"
	if status >= http.StatusInternalServerError {
		side = "Server"
		if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
			Logger(c).Info("client went away", zap.String("path", loggedPath(c)))
		} else if fault.Is(err, fault.Busy) || ofHardware(err) || errors.Is(err, ErrStopping) { // no error level: clients can cause as many as they like
			Logger(c).Info("request refused", zap.Int("status", status), zap.Error(err))
		} else {
			Logger(c).Error("request failed", zap.Int("status", status), zap.Error(err))
		}
		switch {
		case code == fault.DatabaseTimeout: // which limit, and of what
			words = unavailable(code) + " " + words
		case status == http.StatusServiceUnavailable:
			words = unavailable(code)
		case !ofHardware(err):
			words = "Internal error"
		}
	}
	c.AbortWithStatusJSON(status, format.ErrorBody(side, words, code, format.HelpOf(err)))
}

// unavailable is Ironic's sentence (common/exception.py, TemporaryFailure), and what the code means: also the clients of Ironic show
// its users what is away.
func unavailable(code fault.Code) string {
	return "Resource temporarily unavailable, please retry. " + code.Meaning()
}
