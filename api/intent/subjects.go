package intent

import (
	"context"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// Subjects are what the parameters of paths name that belongs to projects.
func (s *Service) Subjects() map[string]httpd.Subject {
	of := func(rule *access.Rule, owners func(context.Context, string, *node.View) (node.Owners, error)) httpd.Subject {
		return httpd.Subject{Get: rule, Owners: func(c *gin.Context, ident string, v *node.View) (node.Owners, error) {
			return owners(c.Request.Context(), node.CanonicalUUID(ident), v)
		}}
	}
	return map[string]httpd.Subject{
		"node": {Get: access.NodeGet, Owners: func(c *gin.Context, ident string, v *node.View) (node.Owners, error) {
			ident, err := s.Ident(c, ident)
			if err != nil {
				return node.Owners{}, err
			}
			return s.Store.NodeOwners(c.Request.Context(), ident, v)
		}},
		"port":       of(access.PortGet, s.Store.PortOwners),
		"portgroup":  of(access.PortgroupGet, s.Store.PortgroupOwners),
		"connector":  of(access.VolumeGet, s.Store.VolumeConnectorOwners),
		"target":     of(access.VolumeGet, s.Store.VolumeTargetOwners),
		"allocation": of(access.AllocationGet, s.Store.AllocationOwners),
		"runbook":    of(access.RunbookGet, s.Store.RunbookOwners),
		"operation":  of(access.OperationGet, s.Store.OperationOwners),
	}
}
