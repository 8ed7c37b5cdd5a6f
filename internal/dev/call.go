package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

// apiVersion is the microversion of every request: the newest of the API.
const apiVersion = "1.114"

// callTimeout limits one request.
const callTimeout = 30 * time.Second

// maxAnswer limits an answer, in bytes. The largest is a list of many servers with their journals.
const maxAnswer = 256 << 20

// StatusError is an answer whose status is not a success.
type StatusError struct {
	Status int
	Text   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("answer %d: %s", e.Status, e.Text) }

// Call sends a request to an API or a rack. in is the JSON body, nil = none; out takes the JSON of the answer, nil = ignore it.
// An answer whose status is not a success is a *StatusError.
func Call(ctx context.Context, method, url string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-OpenStack-Ironic-API-Version", apiVersion)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return &StatusError{Status: res.StatusCode, Text: errorText(answer)}
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	if err := jsonvalue.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, url, err)
	}
	return nil
}

// errorText returns the sentence in an error's body, or the start of the body.
func errorText(body []byte) string {
	if words := client.FaultString(body); words != "" {
		return words
	}
	s := strings.Join(strings.Fields(string(body)), " ")
	return text.Truncate(s, 500, "...")
}
