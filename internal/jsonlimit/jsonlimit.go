// Package jsonlimit reads JSON from untrusted senders within limits: clients,
// agents, BMCs.
//
// A limit on bytes alone does not limit memory: three bytes ("{},") may become a
// struct of hundreds. So elements are limited too. They are counted while the
// document is read, before anything is built from it, and reading stops as soon as
// a limit is exceeded. The memory that a document takes is then at most its bytes
// plus its elements times the size of the largest type it is decoded into.
//
// It is our own because the standard library limits the bytes (http.MaxBytesReader) and, at
// 10,000, the depth (encoding/json), but not the number of elements.
package jsonlimit

import (
	"errors"
	"fmt"
)

// Limits are the limits on one document. A zero field means its default.
type Limits struct {
	// Bytes limits the size of the document as it is sent. Default 1 MiB.
	Bytes int64
	// Text is the number of bytes that are kept of a string. The rest of a longer
	// string is dropped while it is read and takes no memory. Default: no limit.
	Text int64
	// Kept limits the size of the document after long strings were cut. Default: Bytes.
	Kept int64
	// Elements limits the number of objects, arrays and their members, all
	// together. Default 100,000.
	Elements int64
	// Depth limits how deep objects and arrays may be nested. Default 32.
	Depth int64
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 1 << 20
	}
	if l.Kept == 0 {
		l.Kept = l.Bytes
	}
	if l.Elements == 0 {
		l.Elements = 100_000
	}
	if l.Depth == 0 {
		l.Depth = 32
	}
	return l
}

// Bound names one of the Limits.
type Bound string

// The bounds.
const (
	Bytes    Bound = "bytes"
	Elements Bound = "elements"
	Depth    Bound = "depth"
)

// ExceededError reports which limit a document exceeds.
type ExceededError struct {
	Bound Bound
	Limit int64
}

// Error returns a predicate, such as "is larger than 100 bytes". The caller puts the
// subject before it: what the document is.
func (e *ExceededError) Error() string {
	switch e.Bound {
	case Elements:
		return fmt.Sprintf("has more than %d elements", e.Limit)
	case Depth:
		return fmt.Sprintf("is nested deeper than %d levels", e.Limit)
	default:
		return fmt.Sprintf("is larger than %d bytes", e.Limit)
	}
}

// Exceeded returns the bound of the ExceededError in err's tree, "" if there is none.
func Exceeded(err error) Bound {
	var e *ExceededError
	if errors.As(err, &e) {
		return e.Bound
	}
	return ""
}
