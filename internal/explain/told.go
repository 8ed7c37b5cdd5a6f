package explain

import (
	"regexp"

	"go.temper.dev/temper/internal/text"
)

// neverCalled is how Ironic tells that an agent has not called. Clients know these words, so that errors keep them.
var neverCalled = regexp.MustCompile(`Timeout reached while waiting for callback for node \S{36}`)

// told returns an error as a clause of a sentence. It says whom an operation has waited for in vain.
func told(err string) string {
	return text.Clause(neverCalled.ReplaceAllString(err, "the server was booted, and its agent never called"))
}
