package ironic

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// The traits of a runbook are handled as those of a node (Ironic api/controllers/v1/runbook.py, RunbookTraitsController).

// setRunbookTraits sets the traits of a new runbook; null is none.
func setRunbookTraits(b *node.Runbook, v any) (err error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return runbookSet.WrongType("traits", "'array', 'null'", v)
	}
	b.Traits, err = readTraits("runbook", list, node.ValidTrait)
	return err
}

// listRunbookTraits answers GET /v1/runbooks/X/traits.
func (s *Server) listRunbookTraits(c *gin.Context) (int, any, error) {
	b, err := runbookResource.find(c, s.Store.Runbook)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"traits": format.List(b.Traits)}, nil
}

// putRunbookTraits answers PUT /v1/runbooks/X/traits: it replaces all of them.
func (s *Server) putRunbookTraits(c *gin.Context) (int, any, error) {
	traits, err := readAllTraits(c, "runbook", node.ValidTrait)
	if err != nil {
		return 0, nil, err
	}
	_, err = s.changeTraits(c, func(*node.Runbook) ([]string, error) { return traits, nil })
	return http.StatusNoContent, nil, err
}

// putRunbookTrait answers PUT /v1/runbooks/X/traits/T.
func (s *Server) putRunbookTrait(c *gin.Context) (int, any, error) {
	trait := c.Param("trait")
	if err := node.ValidTrait(trait); err != nil {
		return 0, nil, err
	}
	if err := noTraitBody(c); err != nil {
		return 0, nil, err
	}
	b, err := s.changeTraits(c, func(b *node.Runbook) ([]string, error) {
		switch {
		case slices.Contains(b.Traits, trait):
			return b.Traits, nil
		case len(b.Traits) >= node.MaxTraits:
			return nil, tooManyTraits("runbook", len(b.Traits)+1)
		}
		return append(slices.Clone(b.Traits), trait), nil
	})
	if err != nil {
		return 0, nil, err
	}
	format.Located(c, "runbooks/"+b.UUID+"/traits/"+trait)
	return http.StatusNoContent, nil, nil
}

// deleteRunbookTraits answers DELETE /v1/runbooks/X/traits: it removes all.
func (s *Server) deleteRunbookTraits(c *gin.Context) (int, any, error) {
	_, err := s.changeTraits(c, func(*node.Runbook) ([]string, error) { return nil, nil })
	return http.StatusNoContent, nil, err
}

// deleteRunbookTrait answers DELETE /v1/runbooks/X/traits/T.
func (s *Server) deleteRunbookTrait(c *gin.Context) (int, any, error) {
	trait := c.Param("trait")
	_, err := s.changeTraits(c, func(b *node.Runbook) ([]string, error) {
		if !slices.Contains(b.Traits, trait) {
			return nil, fault.New(fault.NotFound, "Runbook %s doesn't have a trait '%s'", b.UUID, format.Clip(trait))
		}
		return slices.DeleteFunc(slices.Clone(b.Traits), func(t string) bool { return t == trait }), nil
	})
	return http.StatusNoContent, nil, err
}

// changeTraits gives the runbook of the path the traits that change returns, while its row is locked.
func (s *Server) changeTraits(c *gin.Context, change func(*node.Runbook) ([]string, error)) (*node.Runbook, error) {
	b, err := runbookResource.find(c, s.Store.Runbook)
	if err != nil {
		return nil, err
	}
	return s.Store.UpdateRunbook(c.Request.Context(), b.UUID, func(b *node.Runbook) (err error) {
		b.Traits, err = change(b)
		return err
	})
}
