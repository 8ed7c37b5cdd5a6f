package fault

import (
	"errors"
	"fmt"
	"slices"
)

// Code tells programs what is wrong: in every error of the API, and as the cause of an operation that
// failed or was ended. Texts may change, codes stay. Codes is the table of them.
type Code string

// CodeRow is a row of Codes. Its texts are for people: docs/troubleshooting.md is made
// of them, and a test holds the contract of the API against them.
type CodeRow struct {
	Code    Code
	Kind    Kind     // of the errors that Coded makes with the code
	Meaning string   // what is wrong, in a sentence
	Advise  string   // what to do about it, in sentences
	Then    string   // what follows Advise if the operation has failed or holds, in a sentence; "" = nothing
	Can     []Do     // what mends it, or shows more of it, where a command can; it comes before a retry
	Flags   string   // what to give to the command line, as a clause; "" = Advise and Can say all
	Fields  []string // of a node that it concerns, as the API names them: "driver_info/redfish_password"
	// Cause marks what an operation may have failed of: a value of its field cause. The
	// others are only refusals of requests.
	Cause bool
	// Holds marks a cause with which the operation waits for a person's decision, whatever its on_failure is.
	Holds bool
	// Reach marks a cause for which no request reaches the BMC at all, whatever the request is.
	Reach bool
}

// thenRetry is what usually follows.
const thenRetry = "Then retry."

// Advice is all that is to be done when the work has failed: Advise and Then.
func (r CodeRow) Advice() string {
	if r.Then == "" {
		return r.Advise
	}
	return r.Advise + " " + r.Then
}

// Codes is the table of all codes. The first row of a kind has the code for errors of this kind
// that have no code of their own.
var Codes = slices.Concat(ofRequests, ofFailures)

// Causes returns the codes that an operation may have as its cause, in the table's order.
func Causes() []Code {
	var out []Code
	for _, row := range Codes {
		if row.Cause {
			out = append(out, row.Code)
		}
	}
	return out
}

// SameReach reports whether a and b are the same cause, and one for which no request reaches the BMC at all. Errors with these
// causes differ only in the request that failed.
func SameReach(a, b Code) bool { return a == b && a.Row().Reach }

// Meaning returns the meaning of c in Codes.
func (c Code) Meaning() string { return c.Row().Meaning }

// Row returns the row of c in Codes. A code that is not in the table has the row of InternalError.
func (c Code) Row() CodeRow {
	for _, row := range Codes {
		if row.Code == c {
			return row
		}
	}
	return Codes[0]
}

// Coded returns an error with the code and of the code's kind. format and args are as in New.
func Coded(c Code, format string, args ...any) error {
	return CodedAs(c.Row().Kind, c, format, args...)
}

// CodedAs is Coded for an error of another kind than the code's.
func CodedAs(k Kind, c Code, format string, args ...any) error {
	return &Error{Kind: k, code: c, err: fmt.Errorf(format, args...)}
}

// CodeOf returns the code of the outermost error in err's chain that has one, else the code of err's
// kind.
func CodeOf(err error) Code {
	for at := err; at != nil; {
		var e *Error
		if !errors.As(at, &e) {
			break
		}
		if e.code != "" {
			return e.code
		}
		at = e.Unwrap()
	}
	return KindOf(err).Code()
}

// CauseOf returns the code of err as the cause of an operation that failed of it. Codes that only
// refuse requests are none.
func CauseOf(err error) Code {
	switch code := CodeOf(err); {
	case code.Row().Cause:
		return code
	case code.Row().Kind == Invalid:
		return ValidationFailed
	}
	return InternalError
}

// Code returns the code for errors of kind k that have no code of their own.
func (k Kind) Code() Code {
	for _, row := range Codes {
		if row.Kind == k {
			return row.Code
		}
	}
	return InternalError
}
