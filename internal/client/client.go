// Package client asks Temper's API over HTTP, in Ironic's shapes under /v1 and ours under /temper/v1. It makes a sentence
// of every failure; it never prints, and sends nothing twice that would then be done twice.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Version is the microversion of every request: the newest that the API has.
const Version = "1.95"

// Headers of the API (Ironic's negotiation, our operations).
const (
	headerVersion   = "X-OpenStack-Ironic-API-Version"
	headerOperation = "Temper-Operation"
	headerCompute   = "Temper-Compute-Service"
	headerRequestID = "OpenStack-Request-Id"
)

// Bounds where nobody says otherwise.
const (
	DefaultTimeout = 30 * time.Second
	dialTimeout    = 5 * time.Second
	maxAnswer      = 64 << 20 // bytes: 1000 nodes with all their fields are a few MiB
	maxFault       = 64 << 10 // bytes of an error's body
)

// Config says where the API is and who asks.
type Config struct {
	// URL of the API, with or without /v1; http or https. Required. A name and a password in it are used as User and
	// Password, and shown nowhere.
	URL string
	// User and Password for http_basic. Default: none are sent.
	User, Password string
	// Timeout bounds a request with everything that is tried again for it. Default 30 s.
	Timeout time.Duration
	// Retrying is told what was wrong before something is asked again. Default: nobody is told.
	Retrying func(error)
}

// Client asks one API. It is safe for concurrent use.
type Client struct {
	base           string // without a trailing slash, /v1 or credentials
	user, password string
	timeout        time.Duration
	retrying       func(error)
	http           *http.Client
}

// New makes a Client; it does not ask yet.
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
	if c.Retrying == nil {
		c.Retrying = func(error) {}
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: min(dialTimeout, c.Timeout)}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       time.Minute,
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	}
	return &Client{
		base: u.Scheme + "://" + u.Host + path, user: c.User, password: c.Password, timeout: c.Timeout, retrying: c.Retrying,
		http: &http.Client{
			Transport: transport,
			// The API redirects nowhere; credentials do not follow one who does.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// URL is where the API is, without credentials.
func (c *Client) URL() string { return c.base }

// Close ends the connections that are kept for later.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one thing to ask.
type request struct {
	method, path string // path as it goes over the wire, escaped
	query        url.Values
	body         any    // JSON; nil = none
	service      string // compute service in whose name it is asked; "" = none
	once         bool   // it has an idempotency key, so that it may be sent again
}

// do asks and reads the answer into out (nil = it is thrown away). What only reads is tried again (retry.go).
func (c *Client) do(ctx context.Context, r request, out any) (http.Header, error) {
	if err := named(r.path); err != nil {
		return nil, err
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ask := func() (http.Header, error) { return c.ask(ctx, r, body, out) }
	switch {
	case r.once:
		return c.retried(ctx, (*Error).lost, ask)
	case r.method == http.MethodGet:
		return c.retried(ctx, (*Error).mayPass, ask)
	}
	return ask()
}

// ask asks once.
func (c *Client) ask(ctx context.Context, r request, body []byte, out any) (http.Header, error) {
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
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unanswered(ctx, r, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, c.refused(r, res)
	}
	return res.Header, c.read(ctx, r, res, out)
}

// read takes the body of a success.
func (c *Client) read(ctx context.Context, r request, res *http.Response, out any) error {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.unanswered(ctx, r, err)
	case len(raw) > maxAnswer:
		return &Error{
			Method: r.method, Path: r.path, URL: c.base, Status: res.StatusCode, Kind: Unreadable,
			Words: fmt.Sprintf("the answer is larger than %d MiB: ask for less at a time", maxAnswer>>20),
		}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return &Error{
			Method: r.method, Path: r.path, URL: c.base, Status: res.StatusCode, Kind: Unreadable, err: err,
			Words: "what answers there is not Temper's API: its answer is not what was asked for",
		}
	}
	return nil
}

// segment is one part of a path: whatever it holds, it stays one.
func segment(s string) string {
	switch s {
	case ".", "..": // would be taken for a way up
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// idents are what the things of a collection are called by.
var idents = map[string]string{
	"nodes": "the name or uuid of the node", "ports": "the name or uuid of the port", "drivers": "the name of the driver",
	"conductors": "the name of the conductor", "operations": "the id of the operation", "traits": "the trait",
	"compute-services": "the name of the compute service",
}

// named refuses a path with an empty segment: the API would take it for the whole collection.
func named(path string) error {
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

// fieldsQuery asks for these fields only; nil = for all.
func fieldsQuery(fields []string) url.Values {
	if len(fields) == 0 {
		return nil
	}
	return url.Values{"fields": {strings.Join(fields, ",")}}
}
