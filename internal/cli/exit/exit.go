package exit

import (
	"errors"
	"strings"
)

// The exit codes. Scripts rely on them.
const (
	CodeFailed      = 1
	CodeUsage       = 2
	CodeHeld        = 3 // an operation waits for somebody's decision
	CodeUnknown     = 4 // the outcome of an operation is not known
	CodeInterrupted = 130
)

// Help explains the codes, in the help of commands that wait for operations.
const Help = `Exit codes of a command that follows operations: 0 all did what was asked for, 1 one failed or was stopped, 2 wrong usage,
3 one holds and waits for a person, 4 the outcome of one is not known (the API could not be reached, or --wait was over),
130 interrupted. If several apply, 1 comes before 4, and 4 before 3.`

// codedError is an error with the exit code that it stands for.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// WithCode returns err with the exit code that it stands for, or nil if err is nil.
func WithCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code, err}
}

// Usage returns err as an error of how a command was called, or nil if err is nil.
func Usage(err error) error { return WithCode(CodeUsage, err) }

// Code returns the exit code for an error. Of joined errors the code that comes first in its list counts. It is 0 for nil.
func Code(err error) int {
	found := map[int]bool{}
	collectCodes(err, found)
	for _, code := range []int{CodeInterrupted, CodeUsage, CodeFailed, CodeUnknown, CodeHeld} {
		if found[code] {
			return code
		}
	}
	return 0
}

func collectCodes(err error, found map[int]bool) {
	if err == nil {
		return
	}
	var e *codedError
	if coded, ok := err.(*codedError); ok { //nolint:errorlint // this walks the tree itself
		found[coded.code] = true
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			collectCodes(one, found)
		}
		return
	}
	if inner := errors.Unwrap(err); inner != nil && (errors.As(err, &e) || hasMany(inner)) {
		collectCodes(inner, found)
		return
	}
	if strings.HasPrefix(err.Error(), "required flag(s)") { // cobra has no type for it
		found[CodeUsage] = true
		return
	}
	found[CodeFailed] = true
}

// hasMany reports whether err, or an error below it, wraps several.
func hasMany(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if _, ok := err.(interface{ Unwrap() []error }); ok {
			return true
		}
	}
	return false
}
