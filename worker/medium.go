package worker

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
)

// mediumLimit is how long the answer of a medium's server may take. It answers that it is busy sooner.
const mediumLimit = 15 * time.Second

// AskMedium returns a function that asks the server of a medium whether it can be read: nil = it can. The error is
// conductor.ErrMediumNotReached if the server gives no answer, fault.Unavailable if it needs more time, else what the server says.
func AskMedium(r dial.Reach) func(ctx context.Context, url string) error {
	c := ownServer(r)
	return func(ctx context.Context, url string) error {
		answer, err := beginningOf(ctx, c, url, 1)
		if err != nil {
			return fmt.Errorf("%w: %s", conductor.ErrMediumNotReached, mask.URLs(fault.NetworkWords(err)))
		}
		defer func() { _ = answer.Body.Close() }()
		_, err = refusalOf(answer)
		if err == nil || fault.Is(err, fault.Unavailable) {
			return err
		}
		return fault.Coded(fault.RamdiskUnusable, "the API can't make the CD: %w", err)
	}
}

// refusalWords returns the reason in an error of the API, and its code, which is an object in Ironic's form: its error_message is JSON itself.
func refusalWords(body io.Reader) (words string, code fault.Code) {
	const limit = 16 << 10
	b, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return "its reason could not be read", ""
	}
	var outer struct {
		Message string     `json:"error_message"`
		Code    fault.Code `json:"code"`
	}
	var inner struct {
		Words string `json:"faultstring"`
	}
	if err := jsonvalue.Unmarshal(b, &outer); err == nil {
		err = jsonvalue.Unmarshal([]byte(outer.Message), &inner)
		if err == nil && inner.Words != "" {
			return inner.Words, outer.Code
		}
	}
	return "it gives no reason", outer.Code
}
