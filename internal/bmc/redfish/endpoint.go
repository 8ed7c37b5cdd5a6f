package redfish

import (
	"bytes"
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

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

const (
	idleConn     = 30 * time.Second // BMCs close idle connections themselves, many after a minute
	maxRedirects = 3
)

// endpoint is one BMC as one account sees it: connections, the BMC session and
// what was learned about the service. Conversations share it.
type endpoint struct {
	info   info
	site   *site
	client *http.Client
	conf   Config
	large  chan struct{} // Driver.large

	// login is held while one caller logs in and the others wait for it; a
	// channel, because waiting ends with the waiter's context.
	login chan struct{}

	refs int         // conversations open; guarded by the driver's mutex
	idle *time.Timer // fires when nothing was sent for the idle time

	mu   sync.Mutex // guards what follows
	pass pass
	root *serviceRoot
	only string // path of the only system, once known
	used time.Time
	done bool // the driver is closed
}

func newEndpoint(i info, s *site, c Config, large chan struct{}) *endpoint {
	transport := &http.Transport{
		// Not the environment's: what conductors use to fetch images does not lead to BMCs.
		Proxy:                  c.proxy(),
		DialContext:            dial.Forgetting(c.dialer()),
		TLSClientConfig:        i.verify.tlsConfig(),
		TLSHandshakeTimeout:    c.RequestTimeout,
		ResponseHeaderTimeout:  c.RequestTimeout,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        min(idleConn, c.SessionIdle),
		MaxIdleConnsPerHost:    c.MaxPerBMC,
		MaxResponseHeaderBytes: maxHeader,
		// Servers that compress give the ETag a suffix that they then refuse.
		DisableCompression: true,
	}
	return &endpoint{
		info: i, site: s, conf: c, large: large,
		login: make(chan struct{}, 1),
		client: &http.Client{
			Transport:     transport,
			Timeout:       c.RequestTimeout,
			CheckRedirect: stayOnBMC,
		},
	}
}

// stayOnBMC follows a GET to another path of the same server and nothing else:
// a redirect must not carry a session's token to another host, nor repeat a
// change. What is not followed is told as the answer it is.
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
	body    []byte // JSON, nil for none
	ifMatch string
	changes bool                        // it changes the machine; reading and logging in do not
	guard   func(context.Context) error // asked when a change could be sent at once; may be nil
	secrets []string                    // in body, beside the account's
}

// lost is a request whose answer never came whole.
type lost struct {
	text  string
	sent  bool // it was a change, and some of it left this machine
	reset bool // the connection broke, as it does when a BMC restarts its web server
}

func (l *lost) Error() string { return l.text }

// guarded is the guard's own error on its way to the caller, who gets it as it is.
type guarded struct{ err error }

func (g *guarded) Error() string { return g.err.Error() }

// ended is a request that stopped because the caller's context was cancelled.
type ended struct {
	cause error
	sent  bool
}

func (e *ended) Error() string { return e.cause.Error() }

// cancelled is the *ended of a context that was cancelled; nil for one that goes
// on or whose deadline passed.
func cancelled(ctx context.Context, sent bool) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return &ended{cause: context.Cause(ctx), sent: sent}
	}
	return nil
}

// send makes one HTTP request in one of the BMC's slots, within the request
// timeout. An answer of any status is no error.
func (e *endpoint) send(ctx context.Context, r request, p pass) (*answer, error) {
	if err := cancelled(ctx, false); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fault.New(fault.Unreachable, "%s %s: no time was left to ask", r.method, r.path)
	}
	if err := spend(ctx, 1, 0); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.conf.RequestTimeout)
	defer cancel()
	if err := e.site.enter(ctx); err != nil {
		return nil, err
	}
	defer e.site.leave()
	if r.guard != nil {
		if err := r.guard(ctx); err != nil {
			return nil, &guarded{err}
		}
	}
	begun := time.Now()
	e.touch(begun)
	a, err := e.exchange(ctx, r, p)
	if err == nil && (a.err() != nil || a.status == http.StatusAccepted) {
		a.body = []byte(e.scrub(string(a.body), r.secrets...)) // before anything is cut short
	}
	e.tell(r.method, a, err, time.Since(begun))
	return a, err
}

func (e *endpoint) touch(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used = at
}

// tell hands an outcome to the observer: "ok" or the name of a fault's kind.
func (e *endpoint) tell(method string, a *answer, err error, took time.Duration) {
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

// exchange is the request on the wire.
func (e *endpoint) exchange(ctx context.Context, r request, p pass) (*answer, error) {
	target, err := e.resolve(r.path)
	if err != nil {
		return nil, err
	}
	var sent atomic.Bool
	if r.changes {
		ctx = dial.InTime(ctx)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, r.method, target.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, fault.New(fault.Internal, "%s %s: %w", r.method, r.path, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	req.Header.Set("User-Agent", "temper")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.ifMatch != "" {
		req.Header.Set("If-Match", r.ifMatch)
	}
	p.show(req, e.info)

	resp, err := e.client.Do(req)
	if err != nil {
		return nil, e.broken(ctx, r, err, r.changes && sent.Load())
	}
	defer resp.Body.Close()
	limit := int64(maxRefusal)
	if r.method == http.MethodGet && resp.StatusCode < 300 {
		limit = maxBody
	}
	body, err := e.readBody(ctx, resp.Body, limit)
	if over := spend(ctx, 0, len(body)); over != nil {
		return nil, over
	}
	a := &answer{method: r.method, path: r.path, changes: r.changes, status: resp.StatusCode, header: resp.Header, body: body}
	switch {
	case errors.Is(err, errCrowded) && !r.changes:
		return nil, err
	case r.method != http.MethodGet || a.err() != nil:
		// The status says it all: of a refusal we lose words, and what was
		// accepted is read back anyway.
		return a, nil
	case len(body) > maxBody:
		return nil, garble(r.path, "the answer is larger than %d bytes", maxBody)
	case err == nil:
		return a, nil
	case ctx.Err() == nil:
		return nil, garble(r.path, "the answer is cut off after %d bytes", len(body))
	}
	return nil, e.broken(ctx, r, err, false)
}

// broken tells why no answer came: the caller's own end, a certificate, or the
// network.
func (e *endpoint) broken(ctx context.Context, r request, err error, sent bool) error {
	if err := cancelled(ctx, sent); err != nil {
		return err
	}
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.Invalid { // dial.Reach refused the address
		return fault.New(fault.Invalid, "%s: %w", propAddress, refused)
	}
	if problem := certificateProblem(err); problem != "" {
		return fault.New(fault.Untrusted, "%s %s: %s", r.method, r.path, problem)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	l := &lost{sent: sent, text: clean(err.Error(), maxMessage)}
	var n net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout():
		l.text = fmt.Sprintf("no answer in time (at most %s)", e.conf.RequestTimeout)
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		l.reset, l.text = true, "the BMC closed the connection without an answer"
	}
	return fault.New(fault.Unreachable, "%s %s: %w", r.method, r.path, l)
}

// resolve makes a path that the BMC told into a URL on this BMC: whatever a
// resource links to, credentials go to one host only.
func (e *endpoint) resolve(path string) (*url.URL, error) {
	u, err := url.Parse(path)
	if err != nil || len(path) > maxPath || !strings.HasPrefix(u.Path, "/") || u.Opaque != "" || u.User != nil {
		return nil, garble(clean(path, 80), "is no path on a BMC")
	}
	if u.Host != "" && !strings.EqualFold(u.Host, e.info.base.Host) {
		return nil, garble(clean(path, 80), "leads to another host, where we do not go")
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

// scrub takes secrets out of a text, in the forms in which a BMC may repeat them.
func (e *endpoint) scrub(told string, more ...string) string {
	for _, secret := range append([]string{e.info.password, e.current().token}, more...) {
		if secret == "" {
			continue
		}
		inJSON, _ := json.Marshal(secret) // strings always marshal
		for _, form := range []string{
			secret, string(inJSON[1 : len(inJSON)-1]), clean(secret, maxMessage),
			url.QueryEscape(secret), url.PathEscape(secret), basicAuth(e.info.username, secret),
		} {
			if form != "" {
				told = strings.ReplaceAll(told, form, "******")
			}
		}
	}
	return told
}

func basicAuth(username, password string) string {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(username, password)
	return strings.TrimPrefix(req.Header.Get("Authorization"), "Basic ")
}
