// Package client is a client of Temper's API: Ironic's resources under /v1 and our own under /temper/v1. The text of an error is
// a sentence for people. The package never prints. It repeats a request only if that can't take effect twice.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/tlsfile"
)

// Version is the microversion of every request: the newest that the API has.
const Version = "1.114"

// Headers of the API (Ironic's negotiation, our operations).
const (
	headerVersion   = "X-OpenStack-Ironic-API-Version"
	headerOperation = "Temper-Operation"
	headerCompute   = "Temper-Compute-Service"
	headerRequestID = "OpenStack-Request-Id"
	headerWarning   = "Temper-Warning"
)

// Limits.
const (
	DefaultTimeout = 30 * time.Second
	dialTimeout    = 5 * time.Second
	Patience       = time.Second // after this Config.Waiting is called
	maxAnswer      = 64 << 20    // bytes: 1000 nodes with all their fields are a few MiB
	maxFault       = 64 << 10    // bytes of an error's body
)

// Config says where the API is and who asks.
type Config struct {
	// URL of the API, with or without /v1; http or https. Required. A user and password in it are used unless User is set, and
	// are never shown.
	URL string
	// User and Password for http_basic. Default: none are sent.
	User, Password string
	// Token is sent instead of User and Password. Default: none is.
	Token string
	// CAFile has certificates of authorities, PEM, that are trusted besides the system's. Default: none.
	CAFile string
	// Timeout limits a request, retries included. Default: 30 s.
	Timeout time.Duration
	// RepeatFor limits how long a request that only reads is repeated after an error that may pass, and one with an idempotency key
	// while the API or its database is away. Default: Timeout.
	RepeatFor time.Duration
	// Retrying gets the error before a request is repeated, and when it is given up. Default: none.
	Retrying func(err error, until time.Time)
	// Warning gets what the API warns of in an answer that is a success, a sentence without a full stop. Default: none.
	Warning func(words string)
	// Waiting is called for a request that has not ended after 1 s, in a goroutine of its own. ctx ends with the request, which is
	// given up at until. If the API's database is away, it is sent again until again, 0 = never. Default: none.
	Waiting func(ctx context.Context, until, again time.Time)
}

// Client is a client of one API. It is safe for concurrent use.
type Client struct {
	base           string // without a trailing slash, /v1 or credentials
	user, password string
	token          string
	timeout        time.Duration
	repeatFor      time.Duration
	once           bool // no request is repeated
	retrying       func(error, time.Time)
	waiting        func(ctx context.Context, until, again time.Time)
	warning        func(string)
	http           *http.Client
}

// New returns a Client. It sends no request.
func New(c Config) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the API must be like http://127.0.0.1:6385") // it may hold a password
	}
	if u.User != nil && c.User == "" {
		c.User = u.User.Username()
		c.Password, _ = u.User.Password()
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.RepeatFor <= 0 || c.RepeatFor > c.Timeout {
		c.RepeatFor = c.Timeout
	}
	if c.Retrying == nil {
		c.Retrying = func(error, time.Time) {}
	}
	if c.Waiting == nil {
		c.Waiting = func(context.Context, time.Time, time.Time) {}
	}
	if c.Warning == nil {
		c.Warning = func(string) {}
	}
	var trust *tls.Config
	if c.CAFile != "" {
		pool, err := tlsfile.Authorities(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authorities of the API's certificate: %w", err)
		}
		trust = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: min(dialTimeout, c.Timeout)}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		TLSClientConfig:       trust,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	}
	return &Client{
		base: u.Scheme + "://" + u.Host + path, user: c.User, password: c.Password, token: c.Token, timeout: c.Timeout, repeatFor: c.RepeatFor, retrying: c.Retrying, waiting: c.Waiting, warning: c.Warning,
		http: &http.Client{
			Transport: transport,
			// The API never redirects. Nobody else may get the credentials by a redirect.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// URL returns the URL of the API, without credentials.
func (c *Client) URL() string { return c.base }

// Once returns a client of the same API that sends each request once, and gives it up after timeout. It shares c's connections.
func (c *Client) Once(timeout time.Duration) *Client {
	one := *c
	one.timeout, one.once = timeout, true
	return &one
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one request.
type request struct {
	method, path string // path is escaped
	query        url.Values
	body         any    // JSON; nil = none
	service      string // compute service that sends it; "" = none
	idempotent   bool   // it has an idempotency key, so that it may be sent again
}

// do sends a request and decodes the answer into out (nil = ignore it). Requests that only read, or are idempotent, are repeated
// (retry.go).
func (c *Client) do(ctx context.Context, r request, out any) (http.Header, error) {
	if err := checkPath(r.path); err != nil {
		return nil, err
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = jsonvalue.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ask := func() (http.Header, error) { return c.send(ctx, r, body, out) }
	if c.once {
		return ask()
	}
	until, _ := ctx.Deadline()
	var again time.Time
	if r.idempotent || r.method == http.MethodGet {
		again = until.Add(c.repeatFor - c.timeout)
	}
	slow := time.AfterFunc(Patience, func() { c.waiting(ctx, until, again) })
	defer slow.Stop()
	switch {
	case r.idempotent:
		return c.retryOnce(ctx, ask)
	case r.method == http.MethodGet:
		return c.retry(ctx, c.repeatFor, (*Error).temporary, ask)
	}
	return ask()
}

// send sends a request once.
func (c *Client) send(ctx context.Context, r request, body []byte, out any) (http.Header, error) {
	at := c.base + r.path
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set(headerVersion, Version)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "temper")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.service != "" {
		req.Header.Set(headerCompute, r.service)
	}
	c.authorize(req)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.noAnswer(ctx, r, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, c.readError(r, res)
	}
	if words := res.Header.Get(headerWarning); words != "" {
		c.warning(words)
	}
	return res.Header, c.read(ctx, r, res, out)
}

// authorize adds the credentials.
func (c *Client) authorize(req *http.Request) {
	switch {
	case c.token != "":
		req.Header.Set("Authorization", "Bearer "+c.token)
	case c.user != "":
		req.SetBasicAuth(c.user, c.password)
	}
}

// read decodes the body of an answer that is a success.
func (c *Client) read(ctx context.Context, r request, res *http.Response, out any) error {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.noAnswer(ctx, r, err)
	case len(raw) > maxAnswer:
		return &Error{
			Method: r.method, Path: r.path, URL: c.base, Status: res.StatusCode, Stage: Unreadable,
			Words: fmt.Sprintf("the answer is larger than %d MiB: ask for less at a time", maxAnswer>>20),
		}
	case out == nil:
		return nil
	}
	if err := jsonvalue.Unmarshal(raw, out); err != nil {
		return &Error{
			Method: r.method, Path: r.path, URL: c.base, Status: res.StatusCode, Stage: Unreadable, err: err,
			Words: "what answers there is not Temper's API: its answer is not what was asked for",
		}
	}
	return nil
}

// segment escapes s, which becomes exactly one segment of a path.
func segment(s string) string {
	switch s {
	case ".", "..": // they would be resolved
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// idents say what identifies an item of a collection.
var idents = map[string]string{
	"nodes": "the name or uuid of the node", "ports": "the name or uuid of the port", "drivers": "the name of the driver",
	"conductors": "the name of the conductor", "operations": "the id of the operation", "traits": "the trait",
	"compute-services": "the name of the compute service",
}

// checkPath refuses a path with an empty segment, which would name the collection instead of an item.
func checkPath(path string) error {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		if part != "" {
			continue
		}
		if i > 0 && idents[parts[i-1]] != "" {
			return errors.New(idents[parts[i-1]] + " is missing")
		}
		return errors.New("a name or uuid is missing")
	}
	return nil
}

// fieldsQuery returns a query for these fields only; nil = for all.
func fieldsQuery(fields []string) url.Values {
	if len(fields) == 0 {
		return nil
	}
	return url.Values{"fields": {strings.Join(fields, ",")}}
}
