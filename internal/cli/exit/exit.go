package exit

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes. Scripts rely on them; Codes says what each means.
const (
	CodeDone        = 0
	CodeFailed      = 1
	CodeUsage       = 2
	CodeHeld        = 3
	CodeLost        = 4
	CodeTimeout     = 124 // as of timeout(1)
	CodeInterrupted = 130 // as of a shell's command that Ctrl-C has ended
)

//go:generate go test -run ^TestTheCodesStandInTheDocumentation$ . -update

// Codes is the table of the exit codes. Help and docs/command-line.md are made of it.
var Codes = []struct {
	Code    int
	Meaning string
}{
	{CodeDone, "everything that was asked for was done"},
	{CodeFailed, "something failed: the API refused the request, or an operation failed or was cancelled"},
	{CodeUsage, "the command was called in a wrong way; nothing was asked of the API"},
	{CodeHeld, "an operation holds and waits for a person's decision"},
	{CodeLost, "lost sight of an operation: the time was over while the API did not answer or its database was away, so that nobody knows how the operation ended"},
	{CodeTimeout, "the time of --timeout or --wait was over, and an operation goes on: the API answers, nothing has failed"},
	{CodeInterrupted, "interrupted, by Ctrl-C or SIGTERM; operations go on"},
}

// precedence is the order in which a code counts if several operations ended in different ways.
var precedence = []int{CodeInterrupted, CodeUsage, CodeFailed, CodeLost, CodeTimeout, CodeHeld}

// Help explains the codes, in the help of commands that follow operations.
func Help() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, row := range Codes {
		fmt.Fprintf(&b, "  %3d  %s\n", row.Code, wrap(row.Meaning, "       "))
	}
	b.WriteString(Several())
	return b.String()
}

// Several says which code counts if several apply.
func Several() string {
	words := make([]string, len(precedence))
	for i, code := range precedence {
		words[i] = fmt.Sprint(code)
	}
	return "If several apply, the first of these counts: " + strings.Join(words, ", ") + "."
}

// width of help's lines, in characters.
const width = 80

// wrap breaks text into lines. All but the first begin with indent.
func wrap(text, indent string) string {
	var b strings.Builder
	at := len(indent)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}

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

// Code returns the exit code for an error. Of joined errors the code that comes first in precedence counts. It is 0 for nil.
func Code(err error) int {
	found := map[int]bool{}
	collectCodes(err, found)
	for _, code := range precedence {
		if found[code] {
			return code
		}
	}
	return CodeDone
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
