// Package basicauth authenticates HTTP requests against an htpasswd file (HTTP Basic, RFC 7617). It does not authorize:
// what a user may do is decided elsewhere.
//
// go-htpasswd reads the file. The rest is our own because middleware such as gin's compares with a fixed list of plain passwords:
// it limits neither how many passwords somebody tries nor how much time bcrypt takes.
package basicauth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/text"
)

const (
	// provenFor is how long a verified password is accepted without another bcrypt comparison.
	provenFor = 10 * time.Minute
	// checkWait is how long a request waits until its password can be compared.
	checkWait = 5 * time.Second
	// Failed logins are logged at this rate (lines a second) and burst.
	logBurst = 20
	logRate  = 1
)

// result is the result of checking a name and a password.
type result int

const (
	right result = iota
	wrong
	throttled // not checked: too many wrong passwords before
	busy      // not checked: too many others are being checked
)

// Authenticator checks names and passwords against an htpasswd file of bcrypt
// entries, which it reads again when the file changes. It is safe for concurrent
// use. Because bcrypt is slow on purpose, a verified password is remembered for a
// while, only few comparisons run at a time, and a client that sends many wrong
// passwords has to wait.
type Authenticator struct {
	users    *users
	throttle *throttle
	turns    chan struct{} // holds one element for each comparison that runs
	key      [32]byte      // HMAC key of the remembered digests; random, so that they are useless outside this process
	now      func() time.Time
	log      *zap.Logger
	logs     *rate.Limiter

	mu     sync.Mutex
	of     *userTable       // the table against which the passwords in proven were verified
	proven map[string]proof // by user name
	silent int              // failed logins that were not logged since the last one that was
}

// proof is the digest of a password that was verified. Each user has at most one,
// so the number of users in the file bounds their number.
type proof struct {
	digest [sha256.Size]byte
	until  time.Time
}

// New returns an Authenticator for the htpasswd file at path. It fails if the file
// can't be read or has an invalid line. If that happens after a later change of the
// file, the problem is only logged.
func New(path string, now func() time.Time, log *zap.Logger) (*Authenticator, error) {
	u, err := openUsers(path, log)
	if err != nil {
		return nil, err
	}
	return newAuthenticator(u, now, log), nil
}

func newAuthenticator(u *users, now func() time.Time, log *zap.Logger) *Authenticator {
	a := &Authenticator{
		users: u, throttle: newThrottle(), turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		now: now, log: log, logs: rate.NewLimiter(logRate, logBurst), proven: map[string]proof{},
	}
	_, _ = rand.Read(a.key[:]) // never fails
	return a
}

// challenge asks for a name and a password, as Ironic does.
const challenge = `Basic realm="Baremetal API"`

// Challenge implements access.Authenticator.
func (*Authenticator) Challenge() string { return challenge }

// Authenticate implements access.Authenticator.
func (a *Authenticator) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	if _, _, ok := r.BasicAuth(); !ok {
		return nil, nil
	}
	name, refusal := a.Check(r)
	if refusal != nil {
		return nil, refusal
	}
	return &access.Identity{User: name, Method: access.HTTPBasic}, nil
}

// Check returns the name of the user who sent the request, or the refusal.
func (a *Authenticator) Check(r *http.Request) (user string, refusal *access.Refusal) {
	name, password, ok := r.BasicAuth()
	if !ok {
		return "", &access.Refusal{Status: http.StatusUnauthorized, Message: "Authorization required"}
	}
	// RemoteAddr, because a client can write any address into a header.
	res, wait := a.check(r.Context(), name, password, sourceOf(r.RemoteAddr))
	switch res {
	case throttled:
		return "", &access.Refusal{Status: http.StatusTooManyRequests, Message: "Too many wrong passwords from this address; try again later", RetryAfter: wait}
	case busy:
		return "", &access.Refusal{Status: http.StatusServiceUnavailable, Message: "Too many passwords are being checked; try again", RetryAfter: time.Second}
	case wrong:
		return "", &access.Refusal{Status: http.StatusUnauthorized, Message: "Incorrect username or password"}
	}
	return name, nil
}

// Handler calls h for requests that are let in, and answers the others with the
// JSON object {"error": message}.
func (a *Authenticator) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, refusal := a.Check(r); refusal != nil {
			header(w.Header(), refusal)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(refusal.Status)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": refusal.Message}) // fails only if the client has gone
			return
		}
		h.ServeHTTP(w, r)
	})
}

// header sets the headers that belong to the refusal.
func header(h http.Header, r *access.Refusal) {
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge)
	}
	if r.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(r.RetryAfter.Seconds()))))
	}
}

// check checks the name and password of a request from source. If the result is
// throttled, it also returns how long the client has to wait.
func (a *Authenticator) check(ctx context.Context, name, password, source string) (result, time.Duration) {
	t := a.users.table()
	digest := a.digest(name, password)
	if a.known(t, name, digest) {
		return right, 0
	}
	// The throttle is asked before and after waiting for a turn: sending many
	// passwords at once must not get more of them checked than sending them one by one.
	if wait := a.throttle.wait(a.now(), name, source); wait > 0 {
		a.failed(throttled, name, source)
		return throttled, wait
	}
	if !a.takeTurn(ctx) {
		a.failed(busy, name, source)
		return busy, 0
	}
	defer func() { <-a.turns }()
	if a.known(t, name, digest) { // verified meanwhile by another request
		return right, 0
	}
	if wait := a.throttle.wait(a.now(), name, source); wait > 0 {
		a.failed(throttled, name, source)
		return throttled, wait
	}
	if !t.match(name, password, binary.BigEndian.Uint64(digest[:])) {
		a.throttle.wrong(a.now(), name, source)
		a.failed(wrong, name, source)
		return wrong, 0
	}
	a.remember(t, name, digest)
	return right, 0
}

func (a *Authenticator) digest(name, password string) (out [sha256.Size]byte) {
	h := hmac.New(sha256.New, a.key[:])
	h.Write([]byte(name + ":" + password)) // unambiguous: a name in HTTP Basic has no colon
	h.Sum(out[:0])
	return out
}

func (a *Authenticator) known(t *userTable, name string, digest [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.proven[name]
	return ok && a.of == t && a.now().Before(p.until) && hmac.Equal(p.digest[:], digest[:])
}

func (a *Authenticator) remember(t *userTable, name string, digest [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != t {
		a.of = t
		clear(a.proven)
	}
	a.proven[name] = proof{digest: digest, until: a.now().Add(provenFor)}
}

// takeTurn waits until a comparison may run, and reports whether it may. It gives up
// after checkWait.
func (a *Authenticator) takeTurn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	select {
	case a.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed logs a request that was not let in. If there are many, it only counts
// them: clients must not be able to fill the log.
func (a *Authenticator) failed(r result, name, source string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.logs.AllowN(a.now(), 1) {
		a.silent++
		return
	}
	why := map[result]string{wrong: "wrong name or password", throttled: "too many wrong passwords before", busy: "too many passwords are being checked"}
	a.log.Warn("login refused", zap.String("why", why[r]), zap.String("user", printable(name)), zap.String("source", source),
		zap.Int("more_not_logged", a.silent))
	a.silent = 0
}

// printable shortens s, which a client sent, and replaces what must not be in a log line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text.Truncate(s, 100, "..."), "?"))
}

// sourceOf returns what the throttle counts wrong passwords by: the client's IPv4
// address, or the /64 network of its IPv6 address, because one client usually has a
// whole one.
func sourceOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		return netip.PrefixFrom(ip, 64).Masked().String()
	}
	return ip.String()
}
