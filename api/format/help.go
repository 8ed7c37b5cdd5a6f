package format

import (
	"errors"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
)

// helpedError is an error with what can be done about it, in the order in which
// to do it.
type helpedError struct {
	error
	help []help.Item
}

func (e helpedError) Unwrap() error { return e.error }

// WithHelp adds to err what can be done about it.
func WithHelp(err error, list ...help.Item) error { return helpedError{err, list} }

// HelpOf is what can be done about an error.
func HelpOf(err error) []help.Item {
	var h helpedError
	if errors.As(err, &h) {
		return h.help
	}
	return List(help.ForCode(fault.CodeOf(err)))
}
