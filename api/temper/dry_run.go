package temper

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// shownTrial is what would become of an order.
type shownTrial struct {
	Accepted bool           `json:"accepted"`
	Refusals []shownRefusal `json:"refusals"`
	Warnings []shownWarning `json:"warnings"`
	Steps    []trialStep    `json:"steps"`
	Notes    []string       `json:"notes"`
}

// shownWarning is a doubt that refuses nothing: what is ordered may fail because of it.
type shownWarning struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// shownRefusal is one reason why an order would be refused, with the code, the text and the help of the error that refuses it.
type shownRefusal struct {
	Code    fault.Code  `json:"code"`
	Message string      `json:"message"`
	Help    []help.Item `json:"help"`
}

type trialStep struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	expectation
}

// tryOrder says what would become of an order, and changes nothing. It touches no hardware, but fetches what can be
// checked of an image.
func (s *Server) tryOrder(c *gin.Context, o *order) (int, any, error) {
	asked := make(chan status.System, 1)
	go func() { asked <- s.system(c.Request.Context(), false) }()
	n, fl, err := s.NodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	fl.WaitsForConductor = o.WaitsForConductor
	if err := s.ReadTemplates(c.Request.Context(), o.Provision, n.UUID); err != nil {
		return 0, nil, err
	}
	out := shownTrial{Refusals: []shownRefusal{}, Warnings: []shownWarning{}, Steps: []trialStep{}, Notes: []string{}}
	var r *node.Request
	of, waits, err := s.Judge(n, func(n *node.Node) (err error) {
		r, err = o.Decide(n, fl)
		return err
	})
	if waits {
		out.Notes = append(out.Notes, fmt.Sprintf("operation %d (%s) holds the node: the request waits for its end, %v at most", n.Operation.ID, n.Operation.Kind, s.NodeLockedWait))
		err = nil
	}
	n = of
	if err != nil && format.StatusOf(err) == http.StatusInternalServerError {
		return 0, nil, err
	}
	if err != nil {
		out.refuse(n, o.Asked, append([]error{err}, o.obstacles(n, fl)...)...)
	}
	if r == nil || r.Open != nil {
		image, err := s.TryImage(c.Request.Context(), o.Provision, n)
		if err != nil {
			return 0, nil, err
		}
		out.refuse(n, o.Asked, image.Refusals...)
		for _, doubt := range image.Warnings {
			out.Warnings = append(out.Warnings, shownWarning{fault.CodeOf(doubt), fault.Text(doubt)})
		}
		out.Notes = append(out.Notes, image.Notes...)
	}
	if out.Accepted = len(out.Refusals) == 0; !out.Accepted || r == nil || r.Open == nil {
		return http.StatusOK, out, nil
	}
	out.Notes = append(out.Notes, s.Notes(r, n)...)
	if system := <-asked; system.Away() != "" {
		out.Notes = append(out.Notes, system.Away())
	}
	out.Steps, err = s.trialSteps(c, r, n)
	return http.StatusOK, out, err
}

// refuse adds reasons why n refuses what is asked, each once.
func (t *shownTrial) refuse(n *node.Node, asked intent.Asked, reasons ...error) {
	for _, why := range reasons {
		code, words := fault.CodeOf(why), fault.Text(why)
		if !slices.ContainsFunc(t.Refusals, func(r shownRefusal) bool { return r.Code == code && r.Message == words }) {
			t.Refusals = append(t.Refusals, shownRefusal{code, words, format.HelpOf(asked.Helped(why, n))})
		}
	}
}

// trialSteps are the steps with which the operation would begin. n is changed as the request would change it.
func (s *Server) trialSteps(c *gin.Context, r *node.Request, n *node.Node) ([]trialStep, error) {
	r.Apply(n) // with the image that the request names
	usual, err := s.Store.UsualTimes(c.Request.Context(), n)
	if err != nil {
		return nil, err
	}
	out := []trialStep{}
	for _, st := range r.Open.Steps {
		if st.State == node.StepSkipped {
			continue
		}
		one := trialStep{Interface: st.Interface, Step: st.Step}
		if u, known := usual[st.Name()]; known {
			one.expectation = expected(&u)
		}
		out = append(out, one)
	}
	return out, nil
}
