package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonlimit"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/text"
)

// maxLine is the length of the longest text of an agent that an error quotes, in bytes.
const maxLine = 1024

// do sends a request and decodes the answer. Its errors do not contain the query, which has
// the token.
func (c *Client) do(ctx context.Context, timeout time.Duration, what, method, at string,
	query url.Values, body []byte, limits jsonlimit.Limits, into any,
) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if method == http.MethodPost {
		bounded = dial.NotAfterDeadline(bounded)
	}
	req, err := http.NewRequestWithContext(bounded, method, at+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Internal, "%s on the agent: bad request", what)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.requestError(ctx, what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		if err != nil {
			return c.requestError(ctx, what, err)
		}
		return c.statusError(what, method, resp.StatusCode, answer)
	}
	answer, done, err := answers.Read(bounded, resp.Body, limits)
	defer done()
	switch {
	case jsonlimit.Exceeded(err) != "":
		return failed(fault.Refused, "%s on the agent: the answer %w", what, err)
	case errors.Is(err, jsonlimit.ErrBusy):
		return failed(fault.Busy, "%s on the agent: %w", what, err)
	case err != nil:
		return c.requestError(ctx, what, err)
	}
	if err := jsonvalue.Unmarshal(answer, into); err != nil {
		return failed(fault.Unreachable, "%s on the agent: the answer can't be read: %s", what, c.oneLine(err.Error()))
	}
	return nil
}

// requestError returns the error of a request that got no answer. Its text has no URL, because that contains the token.
func (c *Client) requestError(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s on the agent: %w", what, ctx.Err())
	}
	kind, words := fault.Unreachable, c.oneLine(fault.NetworkWords(err))
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unverified), errors.As(err, &unknown):
		kind = fault.Untrusted
	case fault.Is(err, fault.Invalid): // dial.Reach refused the address
		kind = fault.Invalid
	}
	return failed(kind, "%w (%s on the agent at %s)", fault.NoAnswerError(words), what, c.host)
}

// statusError returns the error of an answer other than 200.
func (c *Client) statusError(what, method string, code int, answer []byte) error {
	var f Fault
	_ = jsonvalue.Unmarshal(answer, &f) // a proxy may answer with something else
	message := c.oneLine(f.Faultstring)
	if message == "" {
		message = http.StatusText(code)
	}
	kind := fault.Refused
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind = fault.Denied
	case code == http.StatusConflict || code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		kind = fault.Busy
	case code >= 500 && strings.Contains(strings.ToLower(f.Faultstring), "agent is busy"):
		kind = fault.Busy // older agents answer so
	case code >= 500:
		kind = fault.Unreachable
	case code == http.StatusNotFound && method == http.MethodGet:
		kind = fault.NotFound
	}
	return failed(kind, "%d: %s (%s on the agent)", code, message, what)
}

// commandError returns the error of a command that failed at once.
func (c *Client) commandError(name string, r Result) error {
	return fault.CodedAs(fault.Refused, CauseOf(r.Error), "%s (%s on the agent: %s)", c.oneLine(r.Error.Text()), name, r.Status)
}

// oneLine is OneLine without the token.
func (c *Client) oneLine(s string) string {
	return OneLine(strings.ReplaceAll(s, c.target.Token, Masked))
}

// OneLine prepares a text from outside for an error or the database: valid UTF-8 on one line,
// at most 1 KiB.
func OneLine(s string) string {
	return text.Truncate(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), maxLine, " ...")
}
