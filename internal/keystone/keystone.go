// Package keystone authenticates requests by tokens of OpenStack's Keystone (X-Auth-Token). Keystone says who sends a request and
// which roles he has; what the roles allow is decided elsewhere.
//
// gophercloud speaks to Keystone. keystonemiddleware, which Ironic has for this, exists in Python only.
package keystone

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"go.temper.dev/temper/internal/access"
)

const (
	// knownFor is how long Keystone's answer about a token is used, and so how long a token lives that was revoked.
	knownFor = 5 * time.Minute
	// unknownFor is the same for a token that Keystone does not know.
	unknownFor = 10 * time.Second
	// askTimeout is how long Keystone may take, a login of our own included.
	askTimeout = 5 * time.Second
	// awayPause is how long after a failure Keystone is not asked again.
	awayPause = time.Second
	// turns bounds how many tokens Keystone is asked about at a time.
	turns = 16
	// maxToken bounds the length of a token. Fernet tokens have less than 300 characters, JWS tokens less than 1000; servers before
	// Keystone take no longer headers than some thousand.
	maxToken = 2 << 10
)

// Settings say how to reach Keystone and how its answers are read.
type Settings struct {
	CloudsFile string // clouds.yaml with the credentials of a user who may check tokens
	Cloud      string // its name in the file
	// ServiceProject is the project in which the role service stands for Ironic's rule service_role, which lets other services of the
	// cloud in; ServiceDomain is the name or id of its domain.
	ServiceProject, ServiceDomain string
	Now                           func() time.Time
	Log                           *zap.Logger
}

// Authenticator authenticates requests by tokens of Keystone. It is safe for concurrent use.
//
// A token that is revoked is accepted for up to five minutes more. Tokens of application credentials with access rules are refused:
// Keystone shows such tokens only to those who enforce the rules.
type Authenticator struct {
	Settings
	service *service
	known   *cache[*access.Identity]
	unknown *cache[struct{}]
	asking  singleflight.Group
	turns   chan struct{}
}

// New returns the authenticator without asking Keystone. It fails if the file has no such cloud.
func New(s Settings) (*Authenticator, error) {
	service, err := newService(s)
	if err != nil {
		return nil, err
	}
	return &Authenticator{
		Settings: s, service: service, known: newCache[*access.Identity](), unknown: newCache[struct{}](), turns: make(chan struct{}, turns),
	}, nil
}

// Challenge names Keystone as keystonemiddleware does.
func (a *Authenticator) Challenge() string { return `Keystone uri="` + a.service.url + `"` }

// Authenticate returns whom the token of a request is for.
func (a *Authenticator) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	token := r.Header.Get("X-Auth-Token")
	if token == "" {
		return nil, nil
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, a.wrong()
	}
	digest := sha256.Sum256([]byte(token))
	id, err := a.find(r.Context(), token, digest)
	switch {
	case errors.Is(err, errUnknown):
		return nil, a.wrong()
	case err != nil:
		return nil, &access.Refusal{
			Status: http.StatusServiceUnavailable, RetryAfter: awayPause, Message: "Keystone can't be asked about the token; try again",
		}
	}
	own := *id // the caller may change what it gets
	own.Grants, own.Claims = slices.Clone(id.Grants), maps.Clone(id.Claims)
	return &own, nil
}

// wrong is the refusal in keystonemiddleware's words.
func (a *Authenticator) wrong() *access.Refusal {
	return &access.Refusal{Status: http.StatusUnauthorized, Message: "The request you have made requires authentication.", Challenge: a.Challenge()}
}

// find returns whom a token is for. It asks Keystone once, however many requests come with the token.
func (a *Authenticator) find(ctx context.Context, token string, digest [sha256.Size]byte) (*access.Identity, error) {
	now := a.Now()
	if id, ok := a.known.get(digest, now); ok {
		return id, nil
	}
	if _, ok := a.unknown.get(digest, now); ok {
		return nil, errUnknown
	}
	found, err, _ := a.asking.Do(string(digest[:]), func() (any, error) { return a.ask(ctx, token, digest) })
	id, _ := found.(*access.Identity)
	return id, err
}

// ask asks Keystone about a token. It does not end with the request of a client that has gone, because others wait for the answer.
func (a *Authenticator) ask(ctx context.Context, token string, digest [sha256.Size]byte) (*access.Identity, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := a.service.look(ctx, token)
	now := a.Now()
	if err == nil && !now.Before(found.Expires) {
		err = errUnknown
	}
	if errors.Is(err, errUnknown) {
		a.unknown.put(digest, struct{}{}, now.Add(unknownFor))
	}
	if err != nil {
		return nil, err
	}
	id := a.identity(found)
	until := now.Add(knownFor)
	if found.Expires.Before(until) {
		until = found.Expires
	}
	a.known.put(digest, id, until)
	return id, nil
}

// identity is whom Keystone names, with the roles that its answer has. A token without a scope, or for a domain, has no role here.
func (a *Authenticator) identity(t *token) *access.Identity {
	id := &access.Identity{
		User: t.User.Name, Method: access.Keystone, Expires: t.Expires,
		Claims: map[string]any{"user_id": t.User.ID, "user_domain_id": t.User.Domain.ID},
	}
	roles := map[access.Role]bool{}
	for _, r := range t.Roles {
		roles[access.Role(strings.ToLower(r.Name))] = true // oslo.policy compares without case, too
	}
	project := ""
	switch {
	case t.System.All:
	case t.Project.ID != "":
		project = t.Project.ID
		id.Claims["project_id"], id.Claims["project_name"], id.Claims["project_domain_id"] = t.Project.ID, t.Project.Name, t.Project.Domain.ID
	default:
		return id
	}
	for _, role := range access.Roles() {
		if roles[role] {
			id.Grants = append(id.Grants, access.Grant{Role: role, Project: project})
		}
	}
	if roles[access.Service] && a.ofServices(t) {
		id.Grants = append(id.Grants, access.Grant{Role: access.Member}) // SYSTEM_MEMBER and SYSTEM_READER include service_role
	}
	return id
}

// ofServices reports whether a token is for the project of services. Its domain counts, because whoever administers another domain
// can make a project of the same name there.
func (a *Authenticator) ofServices(t *token) bool {
	in := t.Project.Domain
	return a.ServiceProject != "" && t.Project.Name == a.ServiceProject && (in.Name == a.ServiceDomain || in.ID == a.ServiceDomain)
}
