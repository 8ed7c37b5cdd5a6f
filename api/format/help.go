package format

import (
	"errors"
	"net/http"

	"go.temper.dev/temper/internal/fault"
)

// Help is one thing that somebody can do about an error: on the command line,
// and over the API.
type Help struct {
	Command string `json:"command"`
	Effect  string `json:"effect"` // what it does; Command and Effect together are a sentence
	Method  string `json:"method"`
	Path    string `json:"path"`
	Body    any    `json:"body"` // null = none
}

// helpedError is an error with what can be done about it, in the order in which
// to do it.
type helpedError struct {
	error
	help []Help
}

func (e helpedError) Unwrap() error { return e.error }

// WithHelp adds to err what can be done about it.
func WithHelp(err error, list []Help) error { return helpedError{err, list} }

// HelpOf is what can be done about an error.
func HelpOf(err error) []Help {
	var h helpedError
	if errors.As(err, &h) {
		return h.help
	}
	return List(generalHelp[fault.CodeOf(err)])
}

// generalHelp is what can be done about an error whatever the node is.
var generalHelp = map[fault.Code][]Help{
	fault.NodeNotFound:      {{Command: "temper node list", Effect: "shows which there are", Method: http.MethodGet, Path: "/v1/nodes"}},
	fault.PortNotFound:      {{Command: "temper port list", Effect: "shows which there are", Method: http.MethodGet, Path: "/v1/ports"}},
	fault.ConductorNotFound: {{Command: "temper conductor list", Effect: "shows which there are", Method: http.MethodGet, Path: "/temper/v1/conductors"}},
	fault.OperationNotFound: {{Command: "temper operation list", Effect: "shows which there are", Method: http.MethodGet, Path: "/temper/v1/operations"}},
	fault.NoConductor: {{
		Command: "temper conductor list", Effect: "shows which conductors there are, and for what", Method: http.MethodGet, Path: "/temper/v1/conductors",
	}},
	fault.NoConductorAlive: {{
		Command: "temper conductor list", Effect: "shows whether a conductor is alive", Method: http.MethodGet, Path: "/temper/v1/conductors",
	}},
}
