package redfish

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

const (
	idleConn     = 30 * time.Second // many BMCs close idle connections after a minute
	maxRedirects = 3
)

// endpoint is one BMC with one set of credentials: the connections, the login and what
// was read of the service root. All conversations with the same driver_info share it.
type endpoint struct {
	info   info
	shared *bmc.Shared
	client *http.Client
	conf   Config
	large  chan struct{} // Driver.large

	// loginLock is held while one caller logs in and the others wait. It is a channel
	// and no mutex, so that waiting ends with the waiter's context.
	loginLock chan struct{}

	mu         sync.Mutex // guards the fields below
	login      login
	root       *serviceRoot
	onlySystem string            // path of the only system, once known
	quirks     map[string]effect // by the system's path, once known
	unusable   map[string]bool   // virtual drives that refused the method, by path
	inSettings map[string]bool   // systems that accepted the boot override in their settings resource only, by path
	events     *eventService     // nil = not known
	lastUsed   time.Time
	isClosed   bool // the driver is closed
}

func newEndpoint(i info, s *bmc.Shared, c Config, large chan struct{}) *endpoint {
	transport := &http.Transport{
		// The environment's proxy is for fetching images; it does not lead to BMCs.
		Proxy:                  c.proxy(),
		DialContext:            dial.WithoutLinger(c.dialer()),
		TLSClientConfig:        i.verify.tlsConfig(),
		TLSHandshakeTimeout:    c.ConnectTimeout,
		ResponseHeaderTimeout:  max(c.MostTimeout, i.fixed),
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        min(idleConn, c.SessionIdle),
		MaxIdleConnsPerHost:    c.MaxPerBMC,
		MaxResponseHeaderBytes: maxHeader,
		// Some BMCs that compress add a suffix to the ETag, and refuse it in If-Match.
		DisableCompression: true,
	}
	return &endpoint{
		info: i, shared: s, conf: c, large: large, lastUsed: time.Now(),
		loginLock: make(chan struct{}, 1),
		client: &http.Client{
			Transport:     transport,
			Timeout:       max(c.MostTimeout, i.fixed), // the context of each request has its own deadline
			CheckRedirect: stayOnBMC,
		},
	}
}

// stayOnBMC is an http.Client.CheckRedirect that follows a GET to another path of the
// same server and nothing else: a redirect must not carry a session's token to another
// host, nor repeat a change. The answer to any other redirect is the redirect itself.
func stayOnBMC(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || first.Method != http.MethodGet ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// request is one HTTP request.
type request struct {
	method  string
	path    string
	body    []byte  // JSON, nil for none
	upload  *upload // instead of body; nil = there is none
	ifMatch string
	changes bool        // it changes the server; reading and logging in do not
	target  *bmc.Target // its guard is called right before the request is sent; nil = there is none
	secrets []string    // secrets in body, in addition to the account's password
}

// lostAnswer is the error of a request that got no complete answer.
type lostAnswer struct {
	text  string
	sent  bool // it was a change, and some of it was sent
	late  bool // some of it was sent, also if it changes nothing, and the time was over
	reset bool // the connection broke, as it does when a BMC restarts its web server
}

func (l *lostAnswer) Error() string { return l.text }

// guardError carries the guard's error to session.wrap, which returns it unchanged.
type guardError struct{ err error }

func (g *guardError) Error() string { return g.err.Error() }

// cancelledRequest is the error of a request whose context the caller cancelled.
type cancelledRequest struct {
	cause error
	sent  bool
}

func (e *cancelledRequest) Error() string { return e.cause.Error() }

// cancelled returns a *cancelledRequest if ctx was cancelled, nil if it goes on or its
// deadline has passed.
func cancelled(ctx context.Context, sent bool) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &cancelledRequest{cause: context.Cause(ctx), sent: sent}
	}
	return nil
}

// within returns how long an answer is awaited now.
func (e *endpoint) within() time.Duration { return cmp.Or(e.info.fixed, e.shared.Within()) }

// Unused implements bmc.Endpoint.
func (e *endpoint) Unused() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.lastUsed)
}

// send makes one HTTP request in one of the BMC's slots, within the time that this BMC
// has for answers. An answer of any status is no error. Only the stream of events
// (events.go) makes its request past it.
func (e *endpoint) send(ctx context.Context, r request, p login) (*answer, error) {
	if err := cancelled(ctx, false); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fault.New(fault.Unreachable, "no time was left to send the request (%s %s)", r.method, r.path)
	}
	if err := spendBudget(ctx, 1, 0); err != nil {
		return nil, err
	}
	within := e.within()
	if r.upload != nil {
		within = pushTime
	}
	asked := bmc.Request{Name: bmc.AskedFor(ctx, r.method+" "+r.path), AnswerWithin: within}
	if r.target != nil && r.target.Await != nil { // it may wait for longer than a request may take, and must not take a slot meanwhile
		if err := r.target.Await(ctx, asked); err != nil {
			return nil, &guardError{err}
		}
	}
	until := time.Now().Add(within)
	if err := e.acquireBefore(ctx, until); err != nil {
		return nil, err
	}
	answered := time.Duration(-1)
	defer func() {
		e.shared.Release()
		if answered >= 0 {
			bmc.Heard(ctx, answered, e.within())
		}
	}()
	if r.target != nil {
		var err error
		if until, err = r.target.Permit(ctx, asked); err != nil {
			return nil, &guardError{err}
		}
	}
	inTime, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	begun := time.Now()
	e.touch(begun)
	a, err := e.exchange(inTime, r, p)
	if r.upload == nil {
		e.learn(err, time.Since(begun), within)
	}
	if err == nil && r.upload == nil {
		answered = time.Since(begun)
	}
	if err == nil && (a.err() != nil || a.status == http.StatusAccepted) {
		a.body = []byte(e.redact(string(a.body), r.secrets...)) // before the text is shortened: half a secret would not be found
	}
	e.observe(r.method, a, err, time.Since(begun))
	return a, err
}

func (e *endpoint) acquireBefore(ctx context.Context, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err := e.shared.Acquire(ctx)
	if stop := cancelled(ctx, false); err != nil && stop != nil {
		return stop
	}
	return err
}

// learn notes how long the BMC took for an answer, or that it had most of within and gave
// none. A connection that was not established says nothing about that.
func (e *endpoint) learn(err error, took, within time.Duration) {
	var lost *lostAnswer
	switch {
	case err == nil:
		e.shared.Answered(took)
	case errors.As(err, &lost) && lost.late && took >= within*3/4:
		e.shared.RanOut(within)
	}
}

func (e *endpoint) touch(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastUsed = at
}

// observe calls the observer.
func (e *endpoint) observe(method string, a *answer, err error, took time.Duration) {
	if e.conf.Observer == nil {
		return
	}
	if err == nil {
		err = a.err()
	}
	outcome := "ok"
	if err != nil {
		outcome = fault.KindOf(err).String()
	}
	e.conf.Observer(method, outcome, took)
}

// exchange sends the request and reads the answer.
func (e *endpoint) exchange(ctx context.Context, r request, p login) (*answer, error) {
	target, err := e.resolve(r.path)
	if err != nil {
		return nil, err
	}
	var sent atomic.Bool
	if r.changes {
		ctx = dial.NotAfterDeadline(ctx)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { sent.Store(true) }})
	req, err := r.httpRequest(ctx, target)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	req.Header.Set("User-Agent", "temper")
	if r.ifMatch != "" {
		req.Header.Set("If-Match", r.ifMatch)
	}
	p.authenticate(req, e.info)

	client := e.client
	if r.upload != nil {
		var end func()
		client, end = e.pusher()
		defer end()
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, e.noAnswer(ctx, r, err, sent.Load())
	}
	defer resp.Body.Close()
	limit := int64(maxRefusal)
	if r.method == http.MethodGet && resp.StatusCode < 300 {
		limit = maxBody
	}
	body, err := e.readBody(ctx, resp.Body, limit)
	if over := spendBudget(ctx, 0, len(body)); over != nil {
		return nil, over
	}
	a := &answer{method: r.method, path: r.path, changes: r.changes, status: resp.StatusCode, header: resp.Header, body: body}
	switch {
	case errors.Is(err, errTooManyLarge) && !r.changes:
		return nil, err
	case r.method != http.MethodGet || a.err() != nil:
		// Only the status matters: a refusal loses some of its text, and the caller
		// reads back what was accepted.
		return a, nil
	case len(body) > maxBody:
		return nil, malformedAnswer(r.path, "the answer is larger than %d bytes", maxBody)
	case err == nil:
		return a, nil
	case ctx.Err() == nil:
		return nil, malformedAnswer(r.path, "the answer is cut off after %d bytes", len(body))
	}
	return nil, e.noAnswer(ctx, r, err, true)
}

// httpRequest returns the request with its body.
func (r request) httpRequest(ctx context.Context, target *url.URL) (*http.Request, error) {
	body, kind, length := io.Reader(bytes.NewReader(r.body)), "", int64(len(r.body))
	switch {
	case r.upload != nil:
		var err error
		if body, err = r.upload.reader(); err != nil {
			return nil, err
		}
		kind, length = r.upload.contentType, r.upload.size()
	case r.body != nil:
		kind = "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), body)
	if err != nil {
		return nil, fault.New(fault.Internal, "%s %s: %w", r.method, r.path, err)
	}
	req.ContentLength = length
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

// noAnswer returns the error of a request that got no answer: the caller cancelled it,
// the certificate does not verify, or the network failed.
func (e *endpoint) noAnswer(ctx context.Context, r request, err error, begun bool) error {
	sent := r.changes && begun
	if err := cancelled(ctx, sent); err != nil {
		return err
	}
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.Invalid { // dial.Reach refused the address
		return fault.New(fault.Invalid, "%s: %w", propAddress, refused)
	}
	if problem := certificateProblem(err); problem != "" {
		return fault.New(fault.Untrusted, "%s (%s %s)", problem, r.method, r.path)
	}
	l := &lostAnswer{sent: sent, text: printable(fault.NetworkWords(err), maxMessage)}
	var n net.Error
	switch {
	case (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()) && !begun:
		l.text = fmt.Sprintf("no connection in time (at most %s)", min(e.conf.ConnectTimeout, e.within()))
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout():
		l.late, l.text = true, fmt.Sprintf("no answer in time (at most %s)", e.within())
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		l.reset, l.text = true, "the BMC closed the connection without an answer"
	}
	return fault.New(fault.Unreachable, "%w (%s %s)", l, r.method, r.path)
}

// resolve returns the URL of a path that a resource links to. It refuses links to
// another host, so that credentials go to this BMC only.
func (e *endpoint) resolve(path string) (*url.URL, error) {
	u, err := url.Parse(path)
	if err != nil || len(path) > maxPath || !strings.HasPrefix(u.Path, "/") || u.Opaque != "" || u.User != nil {
		return nil, malformedAnswer(printable(path, 80), "is no path on a BMC")
	}
	if u.Host != "" && !strings.EqualFold(u.Host, e.info.base.Host) {
		return nil, malformedAnswer(printable(path, 80), "leads to another host, where we do not go")
	}
	prefix := e.info.base.EscapedPath()
	full := u.EscapedPath()
	if !strings.HasPrefix(full, prefix+"/") {
		full = prefix + full
	}
	out := *e.info.base
	out.Path, _ = url.PathUnescape(full)
	out.RawPath = full
	out.RawQuery = u.RawQuery
	return &out, nil
}

// redact removes secrets from a text, in all forms in which a BMC may repeat them.
func (e *endpoint) redact(s string, more ...string) string {
	for _, secret := range append([]string{e.info.password, e.currentLogin().token}, more...) {
		if secret == "" {
			continue
		}
		inJSON, _ := json.Marshal(secret) // strings always marshal
		for _, form := range []string{
			secret, string(inJSON[1 : len(inJSON)-1]), printable(secret, maxMessage),
			url.QueryEscape(secret), url.PathEscape(secret), basicAuth(e.info.username, secret),
		} {
			if form != "" {
				s = strings.ReplaceAll(s, form, "******")
			}
		}
	}
	return s
}

func basicAuth(username, password string) string {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(username, password)
	return strings.TrimPrefix(req.Header.Get("Authorization"), "Basic ")
}
