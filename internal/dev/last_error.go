package dev

import (
	"os"
	"regexp"
	"strings"

	"go.temper.dev/temper/internal/text"
)

// maxError limits how much of a log is shown, in bytes.
const maxError = 2 << 10

// takenPattern matches Go's error for an address on which another program listens.
var takenPattern = regexp.MustCompile(`listen tcp4? (\S+): bind: address already in use`)

// takenError is a start that failed because another program listens on the address.
type takenError struct {
	address string
	err     error
}

func (e *takenError) Error() string { return e.err.Error() }
func (e *takenError) Unwrap() error { return e.err }

// asTaken returns err, as a *takenError if words contain the error for a taken address.
func asTaken(err error, words string) error {
	if m := takenPattern.FindStringSubmatch(words); m != nil {
		return &takenError{address: m[1], err: err}
	}
	return err
}

// readFrom returns what was written to a log after offset from.
func readFrom(path string, from int64) string {
	b, err := os.ReadFile(path)
	if err != nil || int64(len(b)) <= from {
		return ""
	}
	return string(b[from:])
}

// lastError returns the error with which a program ended, without the stack trace, or else the last line of its log.
func lastError(log string) string {
	var said []string
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\n")
		switch {
		case programError.MatchString(line):
			said = []string{line}
		case strings.TrimSpace(line) == "" || stackFrame.MatchString(line):
		case len(said) > 0 && programError.MatchString(said[0]):
			said = append(said, line)
		default:
			said = []string{line}
		}
	}
	words := strings.Join(said, "\n")
	if words == "" {
		return "nothing"
	}
	return text.Truncate(words, maxError, "...")
}

var (
	// endsWith matches the beginning of the error with which one of our programs, or the Go runtime, ends.
	programError = regexp.MustCompile(`^(temper|temporal-dev|panic|fatal error): `)
	// frame matches a line of a stack trace.
	stackFrame = regexp.MustCompile(`^(\t|goroutine \d+ \[|created by |[A-Za-z]\S*\.\S*$|[A-Za-z]\S*\.\S*\(.*\)$)`)
)
