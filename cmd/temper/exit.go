package main

import (
	"errors"
	"strings"
)

// The exit codes. Scripts rely on them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitHeld        = 3 // an operation waits for somebody's decision
	exitUnknown     = 4 // nobody knows how an operation ends
	exitInterrupted = 130
)

// exitCodes are those codes in the help of commands that stay with operations.
const exitCodes = `Exit codes of a command that stays with operations: 0 they have come to what was asked for, 1 one failed or was stopped, 2 wrong
usage, 3 one holds and waits for a person, 4 the outcome of one is not known (the API was out of sight, or --wait was over),
130 interrupted. Of several, 1 goes before 4, and 4 before 3.`

// exitError is an error with the code that the program is to exit with.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error of how a command was called; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// exitCode is the code for an error, which may be many: the first of these that is among them.
func exitCode(err error) int {
	found := map[int]bool{}
	collectCodes(err, found)
	for _, code := range []int{exitInterrupted, exitUsage, exitFailed, exitUnknown, exitHeld} {
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
	var e *exitError
	if coded, ok := err.(*exitError); ok { //nolint:errorlint // the tree is walked by hand
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
		found[exitUsage] = true
		return
	}
	found[exitFailed] = true
}

// hasMany reports whether err wraps more than one error somewhere.
func hasMany(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if _, ok := err.(interface{ Unwrap() []error }); ok {
			return true
		}
	}
	return false
}
