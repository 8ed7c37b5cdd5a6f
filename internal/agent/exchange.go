package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonlimit"
)

// maxWords bounds what an agent may say in one of our errors, in bytes.
const maxWords = 1024

// do is one request and its answer. Nothing in its errors names the query,
// which holds the token.
func (c *Client) do(ctx context.Context, timeout time.Duration, what, method, at string,
	query url.Values, body []byte, into any,
) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if method == http.MethodPost {
		bounded = dial.InTime(bounded)
	}
	req, err := http.NewRequestWithContext(bounded, method, at+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Internal, "%s on agent of node %s: bad request", what, c.target.Node)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unanswered(ctx, what, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		if err != nil {
			return c.unanswered(ctx, what, err)
		}
		return c.denied(what, method, resp.StatusCode, answer)
	}
	answer, done, err := answers.Read(bounded, resp.Body, c.limits(what))
	defer done()
	switch {
	case jsonlimit.Exceeded(err) != "":
		return fault.New(fault.Refused, "%s on agent of node %s: the answer %w", what, c.target.Node, err)
	case errors.Is(err, jsonlimit.ErrBusy):
		return fault.New(fault.Busy, "%s on agent of node %s: %w", what, c.target.Node, err)
	case err != nil:
		return c.unanswered(ctx, what, err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fault.New(fault.Unreachable, "%s on agent of node %s: the answer can't be read: %s", what, c.target.Node, c.words(err.Error()))
	}
	return nil
}

// unanswered says why there is no answer. url.Error is taken off: it names the
// whole URL, token included.
func (c *Client) unanswered(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s on agent of node %s: %w", what, c.target.Node, ctx.Err())
	}
	var asURL *url.Error
	if errors.As(err, &asURL) {
		err = asURL.Err
	}
	kind := fault.Unreachable
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unverified), errors.As(err, &unknown):
		kind = fault.Untrusted
	case fault.Is(err, fault.Invalid): // an address that may not be talked to
		kind = fault.Invalid
	}
	return fault.New(kind, "%s on agent of node %s: %w", what, c.target.Node, fault.Silence(c.words(err.Error())))
}

// denied turns an answer other than 200 into an error of the right kind.
func (c *Client) denied(what, method string, code int, answer []byte) error {
	var f Fault
	_ = json.Unmarshal(answer, &f) // a proxy may answer with something else
	said := c.words(f.Faultstring)
	if said == "" {
		said = http.StatusText(code)
	}
	kind := fault.Refused
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		kind = fault.Denied
	case code == http.StatusConflict || code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		kind = fault.Busy
	case code >= 500 && strings.Contains(strings.ToLower(f.Faultstring), "agent is busy"):
		kind = fault.Busy // as older agents say it
	case code >= 500:
		kind = fault.Unreachable
	case code == http.StatusNotFound && method == http.MethodGet:
		kind = fault.NotFound
	}
	return fault.New(kind, "%s on agent of node %s: %d: %s", what, c.target.Node, code, said)
}

// refused is a command that the agent took and failed at once.
func (c *Client) refused(name string, r Result) error {
	return fault.New(fault.Refused, "%s on agent of node %s: %s: %s", name, c.target.Node, r.Status, c.words(r.Error.Text()))
}

// words are the agent's, bounded and without the token.
func (c *Client) words(s string) string {
	return Words(strings.ReplaceAll(s, c.target.Token, Masked))
}

// Words bounds what somebody else said, for an error or a row: valid UTF-8, at
// most 1 KiB, on one line.
func Words(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) <= maxWords {
		return s
	}
	cut := maxWords
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + " ..."
}
