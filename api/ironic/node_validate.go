package ironic

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
)

// getValidate answers GET /v1/nodes/X/validate: every interface, and why it
// would not do.
func (s *Server) getValidate(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	n, fl, err := s.NodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	if err := fl.RequireCovered(n); err != nil {
		return 0, nil, err
	}
	out := make(map[string]any, len(interfaceKinds))
	for _, i := range interfaceKinds {
		err := s.ValidateInterface(n, i.name)
		if err == nil && i.name == "deploy" {
			image, failed := s.CheckImage(c.Request.Context(), n, "")
			if failed != nil {
				return 0, nil, failed
			}
			steps, failed := s.CheckTemplates(c.Request.Context(), n)
			if failed != nil {
				return 0, nil, failed
			}
			err = errors.Join(append(image.Refusals, steps)...)
		}
		if err == nil && i.name == "boot" {
			if err = s.CheckPorts(c.Request.Context(), n); err != nil && !fault.Is(err, fault.Invalid) {
				return 0, nil, err
			}
		}
		verdict := map[string]any{"result": true}
		if err != nil {
			verdict = map[string]any{"result": false, "reason": err.Error(), "code": intent.ValidationCode(err)}
		}
		if how := s.HowItBoots(n); err == nil && i.name == "boot" && how != "" {
			verdict["reason"] = how
		}
		out[i.name] = verdict
	}
	return http.StatusOK, out, nil
}
