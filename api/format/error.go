package format

import (
	"encoding/json"
	"net/http"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
)

// NotFoundIsInvalid turns fault.NotFound into fault.Invalid: a request that names another resource in its body is
// wrong, its own path is there.
func NotFoundIsInvalid(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.Invalid, "%w", err)
	}
	return err
}

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

// StatusOf is the HTTP status of an error. To a client that waits for a BMC Temper is a gateway: if the BMC gives no answer, that is
// 504 (RFC 9110, 15.6.5). Ironic answers 500 then. Clients repeat 503, which would only wait for the BMC again.
func StatusOf(err error) int {
	if fault.Is(err, fault.Refused) && fault.CodeOf(err) == fault.BMCSilent {
		return http.StatusGatewayTimeout
	}
	if status, ok := statuses[fault.KindOf(err)]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// ErrorAnswer is the body of an error. Ironic's part is a string that is itself
// JSON, because clients parse it as such (python-ironicclient
// json.loads(body["error_message"])). Code and help are for programs: nobody has
// to read the words.
type ErrorAnswer struct {
	Message string      `json:"error_message"`
	Code    fault.Code  `json:"code"`
	Help    []help.Item `json:"help"`
}

// ErrorBody is the body of an error; side is Client or Server: who has to mend it.
func ErrorBody(side, words string, code fault.Code, h []help.Item) ErrorAnswer {
	inner, err := json.Marshal(struct {
		Faultcode   string  `json:"faultcode"`
		Faultstring string  `json:"faultstring"`
		Debuginfo   *string `json:"debuginfo"`
	}{side, words, nil})
	if err != nil {
		inner = []byte(`{"faultcode":"Server","faultstring":"Internal error","debuginfo":null}`)
	}
	return ErrorAnswer{string(inner), code, List(h)}
}
