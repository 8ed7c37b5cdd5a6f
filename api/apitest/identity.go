package apitest

import (
	"net/http"
	"strings"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/access"
)

// The headers with which a request says in tests who sends it. They are those that Keystone's middleware gives Ironic.
const (
	RolesHeader   = "X-Roles"                // separated by commas; without it nobody has logged in
	ProjectHeader = "X-Project-Id"           // the project of the roles
	ScopeHeader   = "Openstack-System-Scope" // all: the roles are those of the system
	UserHeader    = "X-User-Name"
)

// trusting is an authenticator that believes these headers.
type trusting struct{}

// Authenticate implements access.Authenticator.
func (trusting) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	roles := r.Header.Get(RolesHeader)
	if roles == "" {
		return nil, nil
	}
	id := &access.Identity{User: r.Header.Get(UserHeader), Method: access.Keystone}
	project := r.Header.Get(ProjectHeader)
	if project == "" && r.Header.Get(ScopeHeader) != "all" {
		return id, nil
	}
	for role := range strings.SplitSeq(roles, ",") {
		id.Grants = append(id.Grants, access.Grant{Role: access.Role(strings.TrimSpace(role)), Project: project})
	}
	return id, nil
}

// Challenge implements access.Authenticator.
func (trusting) Challenge() string { return "" }

// WithIdentities has requests say who sends them (RolesHeader).
func WithIdentities(c *api.Config) { c.Auth.Others = []access.Authenticator{trusting{}} }

// As returns the bench for requests of a user with a role in a project, or in the system if that is "".
func (b *Bench) As(user string, role access.Role, project string) *Bench {
	as := *b
	as.headers = http.Header{RolesHeader: {string(role)}, UserHeader: {user}}
	if project == "" {
		as.headers.Set(ScopeHeader, "all")
	} else {
		as.headers.Set(ProjectHeader, project)
	}
	return &as
}
