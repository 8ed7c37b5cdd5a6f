// Package access decides who may do what: the identities of requests, the roles that they were granted, the rules of the API's
// routes by Ironic's names (ironic/common/policy.py), and which nodes a project may see. It reads no credentials; authenticators do.
package access

import (
	"net/http"
	"time"

	"go.temper.dev/temper/internal/node"
)

// Method is how somebody proved who he is.
type Method string

// The methods.
const (
	NoAuth    Method = "noauth"
	HTTPBasic Method = "http_basic"
	OIDC      Method = "oidc"
	Token     Method = "token" // of a service account of Temper's
	Keystone  Method = "keystone"
)

// Role is a role by Keystone's names.
type Role string

// The roles. Each of the first four includes those after it; a service has a role apart.
const (
	Admin   Role = "admin"
	Manager Role = "manager"
	Member  Role = "member"
	Reader  Role = "reader"
	Service Role = "service"
)

// implied are the roles that include a role, itself among them.
var implied = map[Role][]Role{
	Admin:   {Admin},
	Manager: {Admin, Manager},
	Member:  {Admin, Manager, Member},
	Reader:  {Admin, Manager, Member, Reader},
	Service: {Service},
}

// Roles are all roles, the most powerful first.
func Roles() []Role { return []Role{Admin, Manager, Member, Reader, Service} }

// Grant is a role in a project, or in the whole system.
type Grant struct {
	Role    Role   `json:"role"`
	Project string `json:"project,omitempty"` // the project's id; "" = the system
}

// Identity is who sends a request, and what he was granted.
type Identity struct {
	User    string // the name that operations, logs and the audit show
	Method  Method
	Groups  []string
	Claims  map[string]any // of an OIDC token
	Grants  []Grant
	Expires time.Time // when the credentials do; zero = they do not say
}

// Everybody is the identity of every request under noauth: an administrator without a name.
func Everybody() *Identity {
	return &Identity{User: node.Anonymous, Method: NoAuth, Grants: []Grant{{Role: Admin}}}
}

// By is the name under which the identity's deeds are recorded, also under noauth.
func (id *Identity) By() string {
	if id.User == "" {
		return node.Anonymous
	}
	return id.User
}

// Refusal is the answer to a request whose credentials are not accepted.
type Refusal struct {
	Status     int
	Message    string        // Ironic's where it has one for the case
	Challenge  string        // the value of WWW-Authenticate; "" = none
	RetryAfter time.Duration // 0 = no Retry-After header
}

// Authenticator finds out who sends a request, by credentials of one kind. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns who sent the request. It returns nil twice if the request has no credentials of its kind.
	Authenticate(r *http.Request) (*Identity, *Refusal)
	// Challenge is the value of WWW-Authenticate that asks for such credentials; "" = none.
	Challenge() string
}
