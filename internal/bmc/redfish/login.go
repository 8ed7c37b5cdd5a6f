package redfish

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/fault"
)

// The standard places (DSP0266), for services that do not tell theirs.
const (
	pathSystems  = schemas.DefaultServiceRoot + "Systems"
	pathManagers = schemas.DefaultServiceRoot + "Managers"
	pathSessions = schemas.DefaultServiceRoot + "SessionService"
)

type passKind int

const (
	passMissing passKind = iota // nobody logged in yet
	passNone                    // no account is configured
	passBasic
	passSession
)

// pass is what a request shows to be let in. Its number grows with each login,
// so that of many requests refused at once only the first logs in again.
type pass struct {
	kind    passKind
	number  int
	token   string
	session string // where to log out
}

func (p pass) show(req *http.Request, i info) {
	switch p.kind {
	case passBasic:
		req.SetBasicAuth(i.username, i.password)
	case passSession:
		req.Header.Set("X-Auth-Token", p.token)
	}
}

// admit gives a pass newer than the one that was refused (0 = any), logging in
// where there is none. Callers that come meanwhile wait for that one login.
func (e *endpoint) admit(ctx context.Context, refused int) (pass, error) {
	if e.info.username == "" {
		return pass{kind: passNone}, nil
	}
	if p := e.current(); p.kind != passMissing && p.number > refused {
		return p, nil
	}
	select {
	case e.login <- struct{}{}:
		defer func() { <-e.login }()
	case <-ctx.Done():
		if err := cancelled(ctx, false); err != nil {
			return pass{}, err
		}
		return pass{}, fault.New(fault.Unreachable, "waiting for a login that is under way: no time was left")
	}
	if e.closed() {
		return pass{}, fault.New(fault.Unavailable, "the redfish driver is closed")
	}
	last := e.current()
	if last.kind != passMissing && last.number > refused {
		return last, nil
	}
	if err := e.site.denial(e.info.credentials(), time.Now()); err != nil {
		return pass{}, err
	}
	p, err := e.logIn(ctx)
	if fault.Is(err, fault.Denied) {
		e.deny(err)
	}
	if err != nil {
		return pass{}, err
	}
	p.number = last.number + 1
	e.mu.Lock()
	e.pass = p
	e.mu.Unlock()
	return p, nil
}

// deny remembers that the password was refused, and forgets the pass that showed it.
func (e *endpoint) deny(err error) {
	e.mu.Lock()
	e.pass = pass{number: e.pass.number}
	e.mu.Unlock()
	e.site.deny(e.info.credentials(), time.Now().Add(e.conf.DeniedFor), err)
}

func (e *endpoint) closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done
}

func (e *endpoint) current() pass {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pass
}

// logIn makes a session, or sees that the BMC takes the account as it is. It
// shows the password once.
func (e *endpoint) logIn(ctx context.Context) (pass, error) {
	root, err := e.service(ctx)
	if err != nil {
		return pass{}, err
	}
	place := root.sessions()
	switch {
	case e.info.auth == authBasic || e.info.auth == authAuto && place == "":
		return e.tryBasic(ctx, root)
	case place == "":
		return pass{}, fault.New(fault.Refused, "the BMC has no sessions; set %s to basic or auto", propAuthType)
	}
	body, err := json.Marshal(map[string]string{"UserName": e.info.username, "Password": e.info.password})
	if err != nil {
		return pass{}, fault.New(fault.Internal, "encode a login: %w", err)
	}
	a, err := e.send(ctx, request{method: http.MethodPost, path: place, body: body}, pass{})
	if err != nil {
		return pass{}, err
	}
	token := a.header.Get("X-Auth-Token")
	if a.err() == nil && len(token) > maxToken {
		return pass{}, garble(place, "the BMC made a session with a token of %d bytes, more than %d", len(token), maxToken)
	}
	if a.err() == nil && token != "" {
		return pass{kind: passSession, token: token, session: sessionPath(a)}, nil
	}
	if e.info.auth == authAuto && a.sessionless() {
		return e.tryBasic(ctx, root)
	}
	if a.err() == nil {
		return pass{}, garble(place, "the BMC made a session and told no token")
	}
	// Some answer 400 to a wrong password; asking again would count as another try.
	if slices.ContainsFunc([]string{"ResourceAtUriUnauthorized", "NoValidSession", "UnauthorizedLoginAttempt", "LoginFailed"}, a.says) {
		return pass{}, fault.New(fault.Denied, "%w", a.err())
	}
	return pass{}, a.err()
}

// sessionless tells that the BMC has no session to give: no such service, none
// free, or no token. A refused password is not among these.
func (a *answer) sessionless() bool {
	switch a.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return a.err() == nil || a.says("SessionLimitExceeded")
}

// sessionPath is where the new session is, from Location or the body.
func sessionPath(a *answer) string {
	if at := a.header.Get("Location"); len(at) <= maxPath {
		if u, err := url.Parse(at); err == nil && u.Path != "" {
			return u.EscapedPath()
		}
	}
	var made link
	_ = made.UnmarshalJSON(a.body) // a session that tells no place ends by itself
	return string(made)
}

// tryBasic shows the account to a resource that needs one, alone, so that a
// wrong password is tried once and not by each waiting request.
func (e *endpoint) tryBasic(ctx context.Context, root serviceRoot) (pass, error) {
	p := pass{kind: passBasic}
	a, err := e.fetch(ctx, string(root.Systems), p)
	if err != nil {
		return pass{}, err
	}
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status >= 500 {
		return pass{}, a.err()
	}
	return p, nil
}

// service reads the service root, once.
func (e *endpoint) service(ctx context.Context) (serviceRoot, error) {
	e.mu.Lock()
	known := e.root
	e.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	a, err := e.fetch(ctx, schemas.DefaultServiceRoot, pass{})
	if err != nil {
		return serviceRoot{}, err
	}
	var root serviceRoot
	switch {
	case a.status == http.StatusUnauthorized: // it should be open to all; then the standard places must do
		root.SessionService = pathSessions
	case a.status == http.StatusNotFound:
		return serviceRoot{}, fault.New(fault.Refused, "%s: there is no Redfish service at this %s", a.path, propAddress)
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
	e.mu.Lock()
	e.root = &root
	e.mu.Unlock()
	return root, nil
}

// logOut ends the BMC session, if there is one, and forgets what was learned. It
// ends by itself when the BMC can't be asked. For good means that nobody logs in
// afterwards.
func (e *endpoint) logOut(ctx context.Context, forGood bool) {
	select {
	case e.login <- struct{}{}: // a login under way would leave its session behind
		defer func() { <-e.login }()
	case <-ctx.Done():
	}
	e.mu.Lock()
	p := e.pass
	e.done = e.done || forGood
	e.pass, e.root, e.only = pass{number: p.number}, nil, ""
	e.mu.Unlock()
	if p.kind == passSession && p.session != "" {
		_, _ = e.send(ctx, request{method: http.MethodDelete, path: p.session}, p)
	}
	e.client.CloseIdleConnections()
}

// knownSystem is the path of the only system, "" until somebody learned it.
func (e *endpoint) knownSystem() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.only
}

func (e *endpoint) learnSystem(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.only = path
}
