package worker

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
	c := &http.Client{
		Timeout: mediumLimit, Transport: dial.NewTransport(r, mediumLimit),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fault.New(fault.Invalid, "the URL of the medium is none")
		}
		req.Header.Set("Range", "bytes=0-0") // a HEAD would be answered without the reason of a refusal
		answer, err := c.Do(req)
		if err != nil {
			return fmt.Errorf("%w: %s", conductor.ErrMediumNotReached, mask.URLs(fault.NetworkWords(err)))
		}
		defer func() { _ = answer.Body.Close() }()
		switch answer.StatusCode {
		case http.StatusOK, http.StatusPartialContent:
			return nil
		}
		words := refusalWords(answer.Body)
		if answer.StatusCode == http.StatusServiceUnavailable {
			return fault.New(fault.Unavailable, "%s", words)
		}
		return fault.Coded(fault.RamdiskUnusable, "the API can't make the CD (status %d): %s", answer.StatusCode, words)
	}
}

// refusalWords returns the reason in an error of the API, which is an object in Ironic's form: its error_message is JSON itself.
func refusalWords(body io.Reader) string {
	const limit = 16 << 10
	b, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return "its reason could not be read"
	}
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner struct {
		Words string `json:"faultstring"`
	}
	if err := jsonvalue.Unmarshal(b, &outer); err == nil {
		err = jsonvalue.Unmarshal([]byte(outer.Message), &inner)
		if err == nil && inner.Words != "" {
			return inner.Words
		}
	}
	return "it gives no reason"
}
