package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/text"
)

// requestTime is for one request, from the look-up of the name to the end of the answer.
const requestTime = 10 * time.Second

// maxAnswer is how much of an answer is read, so that the connection can be used again.
const maxAnswer = 64 << 10

// Sender sends messages. It follows no redirects, and verifies certificates with the system's authorities. It is safe for
// concurrent use.
type Sender struct {
	reach dial.Reach
	http  *http.Client
}

// NewSender returns a Sender that connects to addresses that reach allows.
func NewSender(reach dial.Reach) *Sender {
	return &Sender{reach: reach, http: &http.Client{
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     dial.NewTransport(reach, requestTime),
	}}
}

// Close closes the idle connections.
func (s *Sender) Close() { s.http.CloseIdleConnections() }

// Check is Webhook.Check with the addresses of this sender.
func (s *Sender) Check(w *Webhook) error { return w.Check(s.reach) }

// Test sends a message of the type webhook.test, once.
func (s *Sender) Test(ctx context.Context, w *Webhook, secret string) error {
	now := time.Now()
	m, err := testMessage(w.Name, now)
	if err != nil {
		return err
	}
	return s.send(ctx, w.URL, secret, m.id, m.body)
}

// send sends a message once. Any answer but 2xx is an error. No error has the URL, which may contain something secret.
func (s *Sender) send(ctx context.Context, to, secret, id string, body []byte) error {
	key, err := keyOf(secret)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fault.New(fault.Invalid, "the url is none")
	}
	now := time.Now()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "temper-webhook")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("webhook-signature", sign(key, id, now, body))
	answer, err := s.http.Do(r)
	if err != nil {
		return requestError(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch {
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return fault.New(fault.Unreachable, "the endpoint answered %d: redirects are not followed", answer.StatusCode)
	case answer.StatusCode < 200 || answer.StatusCode >= 300:
		return fault.New(fault.Unreachable, "the endpoint answered %d", answer.StatusCode)
	}
	return nil
}

// requestError is the error of a request that got no answer, without the URL that net/http puts into it.
func requestError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unreachable, "the endpoint has not answered within %s", requestTime)
	}
	return fault.New(fault.Unreachable, "%s", text.Storable(mask.URLs(fault.NetworkWords(err)), MaxError))
}

// words is an error as it is kept and shown.
func words(err error) string { return text.Storable(mask.URLs(err.Error()), MaxError) }
