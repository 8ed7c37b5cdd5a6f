package ironic

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// minorTraits is the version that added traits. To an older one, Ironic takes the word "traits" of the path for a field of the
// node: reading it is 406, and writing it 405.
const minorTraits = 37

const noTraits = "The API version does not allow traits"

// listTraits answers GET /v1/nodes/X/traits.
func (s *Server) listTraits(c *gin.Context) (int, any, error) {
	if format.Minor(c) < minorTraits {
		return 0, nil, format.TooNew(minorTraits)
	}
	n, err := s.Find(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"traits": format.List(n.Traits)}, nil
}

// putTraits answers PUT /v1/nodes/X/traits: it replaces all of them.
func (s *Server) putTraits(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "traits")
	if err != nil {
		return 0, nil, err
	}
	if _, ok := in.Fields["traits"].([]any); !ok {
		in.Fail("A single node trait may be added via PUT /v1/nodes/<node identifier>/traits/<trait> with no body, or all node traits may be replaced via PUT /v1/nodes/<node identifier>/traits with the list of traits specified in the request body.")
	}
	traits := []string{}
	for _, v := range in.List("traits") {
		t, _ := v.(string)
		if err := node.StorableTrait(t); err != nil {
			in.Fail("Schema error for body: %w", err)
			break
		}
		if !slices.Contains(traits, t) {
			traits = append(traits, t)
		}
	}
	if len(traits) > node.MaxTraits {
		in.Fail("A node can have at most %d traits, not %d", node.MaxTraits, len(traits))
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	slices.Sort(traits)
	return http.StatusNoContent, nil, s.Store.SetTraits(c.Request.Context(), ident, traits)
}

// putTrait answers PUT /v1/nodes/X/traits/T.
func (s *Server) putTrait(c *gin.Context) (int, any, error) {
	trait := c.Param("trait")
	if err := node.StorableTrait(trait); err != nil {
		return 0, nil, err
	}
	if raw, err := format.ReadBody(c, format.MaxBody); err != nil {
		return 0, nil, err
	} else if len(raw) > 0 && string(raw) != "{}" && string(raw) != "null" {
		return 0, nil, fault.New(fault.Invalid, "No body should be provided when adding a trait")
	}
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	if err := s.Store.AddTrait(c.Request.Context(), ident, trait); err != nil {
		return 0, nil, err
	}
	format.Located(c, "nodes/"+ident+"/traits/"+trait)
	return http.StatusNoContent, nil, nil
}

// deleteTraits answers DELETE /v1/nodes/X/traits: it removes all.
func (s *Server) deleteTraits(c *gin.Context) (int, any, error) {
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.SetTraits(c.Request.Context(), ident, nil)
}

// deleteTrait answers DELETE /v1/nodes/X/traits/T.
func (s *Server) deleteTrait(c *gin.Context) (int, any, error) {
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.RemoveTrait(c.Request.Context(), ident, c.Param("trait"))
}
