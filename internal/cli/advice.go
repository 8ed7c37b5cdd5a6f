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

func adviceFor(err error, e node.Event) string {
	if s, ok := client.StageOf(err); ok && (s == client.Unreached || s == client.Unreadable) {
		return "if it is elsewhere, say so with --api or TEMPER_API_URL"
	}
	code := client.CodeOf(err)
	var out []string
	if flags := code.Row().Flags; flags != "" {
		out = append(out, flags)
	}
	for _, h := range client.HelpOf(err) {
		out = append(out, h.Command+" "+h.Effect)
	}
	switch {
	case out != nil:
		return strings.Join(out, ", ")
	case code == fault.UnknownState:
		return "it is one of: " + joinStates(node.States())
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
