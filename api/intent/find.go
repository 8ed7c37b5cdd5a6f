package intent

import (
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

// ConductorNotFound is the error of a request for a conductor that does not exist.
func ConductorNotFound(name string) error {
	return fault.Coded(fault.ConductorNotFound, "Conductor %s could not be found.", format.Clip(name))
}

// Find reads the node of that name or UUID. Requests before 1.5 can't use names.
func (s *Service) Find(c *gin.Context, ident string) (*node.Node, error) {
	ident, err := s.Ident(c, ident)
	if err != nil {
		return nil, err
	}
	return s.Visible(c, ident)
}

// FindListed is Find for an answer that only shows the node, and the Fleet it is shown with.
func (s *Service) FindListed(c *gin.Context, ident string) (*node.Listed, *Fleet, error) {
	ident, err := s.Ident(c, ident)
	if err != nil {
		return nil, nil, err
	}
	n, all, err := s.Store.NodeAndConductors(c.Request.Context(), ident)
	if err == nil && !httpd.View(c, access.NodeGet).Shows(n.Owners()) {
		err = node.NotFound(ident)
	}
	if err != nil {
		return nil, nil, err
	}
	return n, s.fleetOf(all), nil
}

// FindForAgent is Find for what an agent sends about the node it runs on. No rule is about agents: they show tokens.
func (s *Service) FindForAgent(c *gin.Context, ident string) (*node.Node, error) {
	if node.IsUUID(ident) {
		ident = node.CanonicalUUID(ident)
	} else if !node.ValidName(ident, format.Minor(c)) {
		return nil, fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", format.Clip(ident))
	}
	return s.Store.Node(c.Request.Context(), ident)
}

// Visible reads a node by its uuid or a name that was checked. A node that the client may not see does not exist for it.
func (s *Service) Visible(c *gin.Context, ident string) (*node.Node, error) {
	n, err := s.Store.Node(c.Request.Context(), ident)
	if err == nil && !httpd.View(c, access.NodeGet).Shows(n.Owners()) {
		err = node.NotFound(ident)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// VisibleFor is Visible for a request that a rule must allow to be done to the node.
func (s *Service) VisibleFor(c *gin.Context, ident string, rule *access.Rule) (*node.Node, error) {
	n, err := s.Visible(c, ident)
	if err != nil {
		return nil, err
	}
	return n, httpd.Permit(c, rule, n.Owners())
}

// NodeAndFleet reads the node of the request's path, and the conductors.
func (s *Service) NodeAndFleet(c *gin.Context) (*node.Node, *Fleet, error) {
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return nil, nil, err
	}
	fl, err := s.Fleet(c.Request.Context())
	return n, fl, err
}

// Ident checks a node's name or UUID from a path, and returns it in the form in which
// the store has it. If ".json" was taken from the path and no node has the rest as its
// name, ".json" belongs to the name.
func (s *Service) Ident(c *gin.Context, ident string) (string, error) {
	if node.IsUUID(ident) {
		return node.CanonicalUUID(ident), nil
	}
	switch {
	case format.Minor(c) < 5:
		err := node.NotFound(format.Clip(ident))
		if !node.ValidName(ident, format.MaxMinor) {
			return "", err
		}
		named := help.Of(&node.Node{UUID: ident, Name: ident}, help.Action{Do: fault.AskByName})
		return "", format.WithHelp(err, append([]help.Item{named}, format.HelpOf(err)...)...)
	case !node.ValidName(ident, format.Minor(c)):
		return "", fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", format.Clip(ident))
	}
	if format.HadJSONSuffix(c.Request.Context()) {
		if _, err := s.Visible(c, ident); fault.Is(err, fault.NotFound) {
			return ident + ".json", nil
		}
	}
	return ident, nil
}
