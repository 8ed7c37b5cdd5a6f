package redfish

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The standard paths (DSP0266), for BMCs whose service root does not name them.
const (
	pathSystems  = schemas.DefaultServiceRoot + "Systems"
	pathManagers = schemas.DefaultServiceRoot + "Managers"
	pathSessions = schemas.DefaultServiceRoot + "SessionService"
	pathAccounts = schemas.DefaultServiceRoot + "AccountService"
)

type loginKind int

const (
	notLoggedIn  loginKind = iota // nobody has logged in yet
	loginNone                     // driver_info has no credentials
	loginBasic                    // HTTP Basic
	loginSession                  // a Redfish session
)

// login is how requests authenticate. The generation grows with each login, so that
// when many requests are refused at once only the first of them logs in again.
type login struct {
	kind       loginKind
	generation int
	token      string
	session    string // path of the session, for the logout
}

// authenticate sets the request's header.
func (l login) authenticate(req *http.Request, i info) {
	switch l.kind {
	case loginBasic:
		req.SetBasicAuth(i.username, i.password)
	case loginSession:
		req.Header.Set("X-Auth-Token", l.token)
	}
}

// ensureLogin returns a login of a newer generation than refused, the generation that
// the BMC refused (0 = none was). It logs in if there is none. Other callers wait for
// that login meanwhile.
func (e *endpoint) ensureLogin(ctx context.Context, refused int) (login, error) {
	if e.info.username == "" {
		return login{kind: loginNone}, nil
	}
	if l := e.currentLogin(); l.kind != notLoggedIn && l.generation > refused {
		return l, nil
	}
	select {
	case e.loginLock <- struct{}{}:
		defer func() { <-e.loginLock }()
	case <-ctx.Done():
		if err := cancelled(ctx, false); err != nil {
			return login{}, err
		}
		return login{}, fault.New(fault.Unreachable, "waiting for a login that is under way: no time was left")
	}
	if e.closed() {
		return login{}, fault.New(fault.Unavailable, "the redfish driver is closed")
	}
	last := e.currentLogin()
	if last.kind != notLoggedIn && last.generation > refused {
		return last, nil
	}
	if err := e.shared.Denials.Recent(e.info.credentials(), time.Now()); err != nil {
		return login{}, err
	}
	l, err := e.logIn(ctx)
	if fault.Is(err, fault.Denied) {
		e.recordDenial(err)
	}
	if err != nil {
		return login{}, err
	}
	e.endLeftSubscriptions(ctx, l)
	l.generation = last.generation + 1
	e.forgetSessions(ctx, last.session) // the BMC has ended it
	e.mu.Lock()
	e.login = l
	e.mu.Unlock()
	return l, nil
}

// recordDenial records that the BMC refused the password, and forgets the login.
func (e *endpoint) recordDenial(err error) {
	e.mu.Lock()
	e.login = login{generation: e.login.generation}
	e.mu.Unlock()
	e.shared.Denials.Record(e.info.credentials(), time.Now().Add(e.conf.DeniedFor), err)
}

func (e *endpoint) closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isClosed
}

func (e *endpoint) currentLogin() login {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.login
}

// logIn creates a session or, with HTTP Basic, checks that the BMC accepts the
// credentials. It sends the password once.
func (e *endpoint) logIn(ctx context.Context) (login, error) {
	root, err := e.serviceRoot(ctx)
	if err != nil {
		return login{}, err
	}
	place := root.sessions()
	switch {
	case e.info.auth == authBasic || e.info.auth == authAuto && place == "":
		return e.tryBasic(ctx, root)
	case place == "":
		return login{}, fault.New(fault.Refused, "the BMC has no sessions; set %s to basic or auto", propAuthType)
	}
	body, err := json.Marshal(map[string]string{"UserName": e.info.username, "Password": e.info.password})
	if err != nil {
		return login{}, fault.New(fault.Internal, "encode a login: %w", err)
	}
	create := request{method: http.MethodPost, path: place, body: body}
	a, err := e.send(ctx, create, login{})
	if err == nil && a.sessionsFull() && e.endLeftSessions(ctx, login{kind: loginBasic}, node.BMCSession{}) {
		a, err = e.send(ctx, create, login{})
	}
	if err != nil {
		return login{}, err
	}
	token := a.header.Get("X-Auth-Token")
	if a.err() == nil && len(token) > maxToken {
		return login{}, malformedAnswer(place, "the BMC made a session with a token of %d bytes, more than %d", len(token), maxToken)
	}
	if a.err() == nil && token != "" {
		l := login{kind: loginSession, token: token, session: createdPath(a)}
		var made aboutSession
		_ = a.decode(&made) // the body may be empty
		e.endLeftSessions(ctx, l, node.BMCSession{Path: l.session, Created: made.created()})
		return l, nil
	}
	if e.info.auth == authAuto && a.noSession() {
		return e.tryBasic(ctx, root)
	}
	if a.err() == nil {
		return login{}, malformedAnswer(place, "the BMC made a session and told no token")
	}
	// Some BMCs answer 400 to a wrong password. Without this it would be tried again.
	if slices.ContainsFunc([]string{"ResourceAtUriUnauthorized", "NoValidSession", "UnauthorizedLoginAttempt", "LoginFailed"}, a.hasMessage) {
		return login{}, fault.Coded(fault.BMCWrongPassword, "%w", a.err())
	}
	if err := a.err(); fault.Is(err, fault.Denied) { // also 403, by which some BMCs refuse a password
		return login{}, fault.Coded(fault.BMCWrongPassword, "%w", err)
	}
	return login{}, a.err()
}

// noSession reports whether the BMC can't create a session: it has no session service,
// no free session, or returned no token. A refused password is none of these.
func (a *answer) noSession() bool {
	switch a.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return a.err() == nil || a.sessionsFull()
}

// sessionsFull reports whether the BMC has as many sessions as it allows: by the registry's
// message, by Dell's RAC0218, or by what it says. Nobody says so of a refused password.
func (a *answer) sessionsFull() bool {
	if a.hasMessage("SessionLimitExceeded") || a.hasMessage("RAC0218") {
		return true
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
		return false
	}
	text := strings.ToLower(a.explanation())
	return strings.Contains(text, "session") && slices.ContainsFunc([]string{"maximum", "limit", "exceed", "too many"},
		func(word string) bool { return strings.Contains(text, word) })
}

// createdPath returns the path of the new resource, from the header Location or the body.
func createdPath(a *answer) string {
	if at := a.header.Get("Location"); len(at) <= maxPath {
		if u, err := url.Parse(at); err == nil && u.Path != "" {
			return u.EscapedPath()
		}
	}
	var made link
	_ = made.UnmarshalJSON(a.body) // without a path a session is not ended, and expires
	return string(made)
}

// tryBasic sends the credentials once, to a resource that needs them, so that a wrong
// password is tried once and not by each waiting request.
func (e *endpoint) tryBasic(ctx context.Context, root serviceRoot) (login, error) {
	l := login{kind: loginBasic}
	a, err := e.fetch(ctx, string(root.Systems), l)
	if err != nil {
		return login{}, err
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status >= 500 {
		return login{}, a.err()
	}
	return l, nil
}

// serviceRoot returns the service root, which it reads once for each login.
func (e *endpoint) serviceRoot(ctx context.Context) (serviceRoot, error) {
	e.mu.Lock()
	known := e.root
	e.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	a, err := e.fetch(ctx, schemas.DefaultServiceRoot, login{})
	if err != nil {
		return serviceRoot{}, err
	}
	var root serviceRoot
	switch {
	case a.status == http.StatusUnauthorized: // DSP0266 wants it open to all; use the standard paths
		root.SessionService, root.AccountService = pathSessions, pathAccounts
	case a.status == http.StatusNotFound:
		return serviceRoot{}, fault.Coded(fault.BMCWrongAddress, "there is no Redfish service at this %s (%s)", propAddress, a.path)
	case a.err() != nil:
		return serviceRoot{}, a.err()
	default:
		if err := a.decode(&root); err != nil {
			return serviceRoot{}, err
		}
	}
	if root.Systems == "" {
		root.Systems = pathSystems
	}
	if root.Managers == "" {
		root.Managers = pathManagers
	}
	e.pace(identity{vendor: string(root.Vendor)})
	e.mu.Lock()
	e.root = &root
	e.mu.Unlock()
	return root, nil
}

// LogOut implements bmc.Endpoint. It deletes the BMC session, if there is one, and forgets what was read of the
// service. If the request fails, the session expires on the BMC. After a logout for
// good nobody logs in again.
func (e *endpoint) LogOut(ctx context.Context, forGood bool) {
	select {
	case e.loginLock <- struct{}{}: // else a login under way would leave its session behind
		defer func() { <-e.loginLock }()
	case <-ctx.Done():
	}
	e.mu.Lock()
	l := e.login
	e.isClosed = e.isClosed || forGood
	e.login, e.root, e.onlySystem = login{generation: l.generation}, nil, ""
	e.quirks, e.unusable, e.inSettings, e.events = nil, nil, nil, nil // the firmware may be updated meanwhile
	e.mu.Unlock()
	if l.kind == loginSession && l.session != "" {
		if _, err := e.send(ctx, request{method: http.MethodDelete, path: l.session}, l); err == nil {
			e.forgetSessions(ctx, l.session)
		}
	}
	e.client.CloseIdleConnections()
}

// knownSystem returns the path of the BMC's only system, "" if it is not known yet.
func (e *endpoint) knownSystem() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.onlySystem
}

func (e *endpoint) learnSystem(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onlySystem = path
}
