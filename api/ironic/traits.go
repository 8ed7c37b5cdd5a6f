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
	traits, err := readAllTraits(c, "node", node.StorableTrait)
	if err != nil {
		return 0, nil, err
	}
	ident, err := s.Ident(c, c.Param("node"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, s.Store.SetTraits(c.Request.Context(), ident, traits)
}

// readAllTraits reads the body of a request that replaces all traits of a noun, "node" or "runbook".
func readAllTraits(c *gin.Context, noun string, valid func(string) error) ([]string, error) {
	in, err := format.ReadObject(c, format.MaxBody, "traits")
	if err != nil {
		return nil, err
	}
	if _, ok := in.Fields["traits"].([]any); !ok {
		in.Fail("A single %[1]s trait may be added via PUT /v1/%[1]ss/<%[1]s identifier>/traits/<trait> with no body, or all %[1]s traits may be replaced via PUT /v1/%[1]ss/<%[1]s identifier>/traits with the list of traits specified in the request body.", noun)
	}
	list := in.List("traits")
	if in.Err != nil {
		return nil, in.Err
	}
	return readTraits(noun, list, valid)
}

// readTraits reads a list of traits, and returns it in order.
func readTraits(noun string, list []any, valid func(string) error) ([]string, error) {
	traits := []string{}
	for _, v := range list {
		t, _ := v.(string)
		if err := valid(t); err != nil {
			return nil, fault.New(fault.Invalid, "Schema error for body: %w", err)
		}
		if !slices.Contains(traits, t) {
			traits = append(traits, t)
		}
	}
	if len(traits) > node.MaxTraits {
		return nil, tooManyTraits(noun, len(traits))
	}
	slices.Sort(traits)
	return traits, nil
}

func tooManyTraits(noun string, n int) error {
	return fault.New(fault.Invalid, "A %s can have at most %d traits, not %d", noun, node.MaxTraits, n)
}

// noTraitBody refuses a body where the trait is in the path.
func noTraitBody(c *gin.Context) error {
	raw, err := format.ReadBody(c, format.MaxBody)
	if err == nil && len(raw) > 0 && string(raw) != "{}" && string(raw) != "null" {
		err = fault.New(fault.Invalid, "No body should be provided when adding a trait")
	}
	return err
}

// putTrait answers PUT /v1/nodes/X/traits/T.
func (s *Server) putTrait(c *gin.Context) (int, any, error) {
	trait := c.Param("trait")
	if err := node.StorableTrait(trait); err != nil {
		return 0, nil, err
	}
	if err := noTraitBody(c); err != nil {
		return 0, nil, err
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
