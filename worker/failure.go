package worker

import (
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"

	"go.temper.dev/temper/internal/mask"
)

// maskedFailures masks the secrets in URLs when an error becomes a Temporal failure.
// The SDK writes the text of each error in a chain into the history, including errors
// of libraries.
type maskedFailures struct{ converter.FailureConverter }

// ErrorToFailure implements converter.FailureConverter.
func (m maskedFailures) ErrorToFailure(err error) *failure.Failure {
	f := m.FailureConverter.ErrorToFailure(err)
	for one := f; one != nil; one = one.GetCause() {
		one.Message = mask.URLs(one.GetMessage())
	}
	return f
}
