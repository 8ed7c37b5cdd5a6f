package activities

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/internal/fault"
)

// Details are the details of a failure in Temporal, whose type is the kind of the error.
type Details struct {
	Cause fault.Code `json:"cause"`
}

func detailsOf(err error) []any { return []any{Details{fault.CauseOf(err)}} }

// CauseOf returns the cause of a failure in Temporal. Failures of older versions have no details,
// and the code of their kind.
func CauseOf(err error) fault.Code {
	var app *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	var d Details
	switch {
	case errors.As(err, &timeout):
		return fault.StepsTimedOut
	case !errors.As(err, &app):
		return fault.InternalError
	case app.HasDetails() && app.Details(&d) == nil && d.Cause != "":
		return d.Cause
	}
	return fault.CauseOf(fault.New(fault.ParseKind(app.Type()), "%s", app.Message()))
}

// NonRetryable returns err as a failure that Temporal does not retry.
func NonRetryable(err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: detailsOf(err)})
}

// RetryAfter returns err as a failure that Temporal retries after pause; 0 = as the retry policy says.
func RetryAfter(err error, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), fault.KindOf(err).String(),
		temporal.ApplicationErrorOptions{NextRetryDelay: pause, Details: detailsOf(err)})
}
