package httpd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Subject is what a parameter of a path names, such as a node.
type Subject struct {
	// Get is the rule of reading it. To whom it does not allow that, the subject does not exist.
	Get *access.Rule
	// Owners returns whose it is. It returns the error of a subject that does not exist also for one that the view does not show.
	Owners func(c *gin.Context, ident string, v *node.View) (node.Owners, error)
}

// parameter is the name of the first parameter of the route's path; "" = it has none.
func (r Route) parameter() string {
	_, rest, found := strings.Cut(r.Path, ":")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// checkRules returns an error if a route says nothing about who may use it, or what can't be decided.
func (s *Server) checkRules() error {
	var errs []error
	for _, r := range s.table {
		switch {
		case r.open && r.rule != nil:
			errs = append(errs, fmt.Errorf("the route %s %s is open and has a rule", r.Method, r.Path))
		case !r.open && r.rule == nil:
			errs = append(errs, fmt.Errorf("the route %s %s has no rule", r.Method, r.Path))
		case slices.ContainsFunc(r.Rules(), (*access.Rule).Targets) && r.parameter() != "" && s.Subjects[r.parameter()].Owners == nil:
			errs = append(errs, fmt.Errorf("the rule of %s %s is about owners, and Subjects does not say who owns a %s", r.Method, r.Path, r.parameter()))
		}
	}
	return errors.Join(errs...)
}

// targetKey is where permitted leaves whose the subject of the path is. For those who may do everything it is not asked.
const targetKey = "target"

// permitted refuses a request that the rules of its route do not allow. What the client may not see is not there. Requests of
// those who may do it to everything cost nothing more. Where the path names nothing, a rule that depends on what the request is
// about is only asked whether there can be something: the handler asks the rest, with Permit or a View.
func (s *Server) permitted(c *gin.Context) {
	rules, id := s.routeOf(c).Rules(), IdentityOf(c)
	name := s.routeOf(c).parameter()
	of, view := s.Subjects[name], (*node.View)(nil)
	if of.Owners != nil {
		view = of.Get.Of(id)
	}
	if len(rules) == 0 || view == nil && slices.ContainsFunc(rules, func(r *access.Rule) bool { return r.AllowsAll(id) }) {
		return
	}
	allows := func(r *access.Rule) bool { return r.AllowsSome(id) }
	if of.Owners != nil && len(id.Grants) > 0 {
		target, err := of.Owners(c, c.Param(name), view)
		if err != nil {
			fail(c, err)
			return
		}
		c.Set(targetKey, target)
		allows = func(r *access.Rule) bool { return r.Allows(id, target) }
	}
	if !slices.ContainsFunc(rules, allows) {
		fail(c, Denied(c, rules[0]))
	}
}

// Permit returns an error if a rule does not allow the request to be done to a target.
func Permit(c *gin.Context, r *access.Rule, t node.Owners) error {
	if r.Allows(IdentityOf(c), t) {
		return nil
	}
	return Denied(c, r)
}

// OwnProject returns the project that is to own what a request creates: asked, which may be "". all says that the client may create it for
// everybody. Otherwise it must be a project of the client for whose things the rule allows that, and is the only such one where asked is "".
func OwnProject(c *gin.Context, all bool, r *access.Rule, asked string) (string, error) {
	if all {
		return asked, nil
	}
	projects := r.Projects(IdentityOf(c))
	switch {
	case asked != "" && slices.Contains(projects, asked):
		return asked, nil
	case asked != "" || len(projects) == 0:
		return "", Denied(c, r)
	case len(projects) > 1:
		return "", fault.New(fault.Invalid, "You have this right in %d projects. Set owner to the one that is meant.", len(projects))
	}
	return projects[0], nil
}

// PermitTarget is Permit for what the path of the request names.
func PermitTarget(c *gin.Context, r *access.Rule) error {
	of, _ := c.Value(targetKey).(node.Owners)
	return Permit(c, r, of)
}

// View is what the request may see of a list.
func View(c *gin.Context, r *access.Rule) *node.View { return r.Of(IdentityOf(c)) }

// Denied is the error of a request that a rule does not allow, in Ironic's words.
func Denied(c *gin.Context, r *access.Rule) error {
	id := IdentityOf(c)
	audit.Of(c.Request.Context()).Ruled(r.Name)
	Logger(c).Info("request denied", zap.String("rule", r.Name), zap.String("user", id.User), zap.String("method", string(id.Method)))
	switch {
	case len(id.Grants) > 0:
		return fault.Coded(fault.ForbiddenRequest, "Access was denied to the following resource: %s.", r.Name)
	case id.Method == access.Keystone:
		return fault.Coded(fault.ForbiddenRequest, "The token of %s has no role: it is neither of a project nor of the system.", format.Clip(id.User))
	default:
		return fault.Coded(fault.ForbiddenRequest, "%s has no role. An administrator grants one with a line in the access file: - {user: %q, role: reader}.",
			format.Clip(id.User), format.Clip(id.User))
	}
}
