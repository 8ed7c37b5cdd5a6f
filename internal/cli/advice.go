package cli

import (
	"errors"
	"strings"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// advisedError is an error with advice in its text.
type advisedError struct {
	err    error
	advice string // "" = there is none
}

func (e *advisedError) Error() string {
	if e.advice == "" {
		return e.err.Error()
	}
	return e.err.Error() + "; " + e.advice
}

func (e *advisedError) Unwrap() error { return e.err }

// withAdvice adds advice to an error that has none yet.
func withAdvice(err error) error { return withAdviceFor(err, "") }

// withAdviceFor is withAdvice for a request that asked for event e of the life cycle; "" = for none.
func withAdviceFor(err error, e node.Event) error {
	var done *advisedError
	if err == nil || errors.As(err, &done) {
		return err
	}
	return &advisedError{err, adviceFor(err, e)}
}

// adviceByCode is the advice about this program: its flags, its environment, its version. The advice of the API follows it.
var adviceByCode = map[fault.Code]string{
	fault.Unauthenticated:     "say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD",
	fault.VersionNotSupported: "the API is older than this program, which asks for version " + client.Version,
	fault.ImageInvalid:        "say which image with --image and --checksum",
	fault.SecretRequired:      "--driver-info @FILE and --instance-info @FILE read secrets from a JSON file",
	fault.NodeInTransition:    "once its operation holds for a decision, driver_info, instance_info and properties can be set",
	fault.UnknownState:        "it is one of: " + joinStates(node.States()),
}

func adviceFor(err error, e node.Event) string {
	if s, ok := client.StageOf(err); ok && (s == client.Unreached || s == client.Unreadable) {
		return "if it is elsewhere, say so with --api or TEMPER_API_URL"
	}
	code := client.CodeOf(err)
	var out []string
	if own := adviceByCode[code]; own != "" {
		out = append(out, own)
	}
	for _, h := range client.HelpOf(err) {
		out = append(out, h.Command+" "+h.Effect)
	}
	switch {
	case out != nil:
		return strings.Join(out, ", ")
	case e == "":
	case code == fault.AlreadyInState:
		return "it is " + string(goalOf(e)) + " already"
	case code == fault.StateNotAllowed:
		return "that is possible in: " + joinStates(node.StatesFor(e))
	}
	return ""
}

// goalOf returns the state that the verb of e leads to.
func goalOf(e node.Event) node.State {
	for _, v := range node.Verbs {
		if v.Event == e {
			return v.State
		}
	}
	return node.NoState
}

func joinStates(list []node.State) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
