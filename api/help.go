package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// help is one thing that somebody can do about an error: on the command line,
// and over the API.
type help struct {
	Command string `json:"command"`
	Effect  string `json:"effect"` // what it does; Command and Effect together are a sentence
	Method  string `json:"method"`
	Path    string `json:"path"`
	Body    any    `json:"body"` // null = none
}

// helpedError is an error with what can be done about it, in the order in which
// to do it.
type helpedError struct {
	error
	help []help
}

func (e helpedError) Unwrap() error { return e.error }

// helped adds to err what can be done about it, as far as that depends on the
// node n and on what was asked of it; e is "" where that was nothing of the life
// cycle.
func helped(err error, n *node.Node, e node.Event) error {
	if err == nil {
		return nil
	}
	about := aboutNode{n}
	var list []help
	switch code := fault.CodeOf(err); {
	case code == fault.NodeLocked, code == fault.NodeInTransition, code == fault.StateNotAllowed && n.Operation != nil:
		list = about.held()
	case code == fault.StateNotAllowed && e != "":
		list = about.wayTo(e)
	case code == fault.NodeProtected:
		list = []help{about.patch("node set %s --protected=false", "lifts that", "/protected", false)}
	case code == fault.NodeInMaintenance:
		list = []help{{
			Command: about.command("node maintenance unset %s"), Effect: "ends the maintenance",
			Method: http.MethodDelete, Path: about.path("/v1", "/maintenance"),
		}}
	case code == fault.ValidationFailed, code == fault.NotSupported, code == fault.ImageInvalid:
		list = []help{{
			Command: about.command("node validate %s"), Effect: "shows what is missing",
			Method: http.MethodGet, Path: about.path("/v1", "/validate"),
		}}
	}
	if list == nil {
		return err
	}
	return helpedError{err, list}
}

// helpOf is what can be done about an error.
func helpOf(err error) []help {
	var h helpedError
	if errors.As(err, &h) {
		return h.help
	}
	return list(generalHelp[fault.CodeOf(err)])
}

// generalHelp is what can be done about an error whatever the node is.
var generalHelp = map[fault.Code][]help{
	fault.NodeNotFound:      {{Command: "temper node list", Effect: "shows which there are", Method: http.MethodGet, Path: "/v1/nodes"}},
	fault.PortNotFound:      {{Command: "temper port list", Effect: "shows which there are", Method: http.MethodGet, Path: "/v1/ports"}},
	fault.ConductorNotFound: {{Command: "temper conductor list", Effect: "shows which there are", Method: http.MethodGet, Path: "/temper/v1/conductors"}},
	fault.OperationNotFound: {{Command: "temper operation list", Effect: "shows which there are", Method: http.MethodGet, Path: "/temper/v1/operations"}},
	fault.NoConductor: {{
		Command: "temper conductor list", Effect: "shows which conductors there are, and for what", Method: http.MethodGet, Path: "/temper/v1/conductors",
	}},
	fault.NoConductorAlive: {{
		Command: "temper conductor list", Effect: "shows whether a conductor is alive", Method: http.MethodGet, Path: "/temper/v1/conductors",
	}},
}

// aboutNode makes help about a node.
type aboutNode struct{ *node.Node }

// maxLabel bounds the name in a command; a longer one gives way to the uuid.
const maxLabel = 64

func (n aboutNode) command(format string) string {
	label := n.Name
	if label == "" || len(label) > maxLabel {
		label = n.UUID
	}
	return "temper " + fmt.Sprintf(format, label)
}

func (n aboutNode) path(root, rest string) string { return root + "/nodes/" + n.UUID + rest }

func (n aboutNode) patch(format, effect, path string, value any) help {
	return help{
		Command: n.command(format), Effect: effect, Method: http.MethodPatch, Path: n.path("/v1", ""),
		Body: []gin.H{{"op": "replace", "path": path, "value": value}},
	}
}

// held is how to learn of the open operation, and how to end it.
func (n aboutNode) held() []help {
	out := []help{n.why()}
	o := n.Operation
	if o == nil || o.Asked.Interrupts() {
		return out
	}
	if step := o.Undecided(); step != nil && o.TemporalPause == nil {
		return append(out, decisions(o.ID, step.Choices())...)
	}
	if o.TemporalPause != nil {
		out = append(out, help{
			Command: command(nil, explain.Action{Do: explain.UnpauseOperation, Operation: o.ID}), Effect: "lets it go on", Method: http.MethodPost, Path: operationPath(o.ID, "/unpause"), Body: gin.H{},
		})
	}
	return append(out, help{
		Command: command(nil, explain.Action{Do: explain.CancelOperation, Operation: o.ID}), Effect: "ends it",
		Method: http.MethodPost, Path: operationPath(o.ID, "/cancel"), Body: gin.H{},
	})
}

func (n aboutNode) why() help {
	return help{Command: n.command("node why %s"), Effect: "shows what holds it", Method: http.MethodGet, Path: n.path("/temper/v1", "/why")}
}

// actionEffects says what becomes of the step at which an operation holds.
var actionEffects = map[node.Action]string{
	node.ActionRetry: "runs the failed step again", node.ActionSkip: "leaves the failed step out", node.ActionAbort: "ends it",
}

func decisions(id int64, choices []node.Action) []help {
	var out []help
	for _, a := range choices {
		out = append(out, help{
			Command: command(nil, explain.Action{Do: explain.Decide, Operation: id, Decision: a}), Effect: actionEffects[a],
			Method: http.MethodPost, Path: operationPath(id, "/decision"), Body: gin.H{"action": a},
		})
	}
	return out
}

func operationPath(id int64, rest string) string {
	return fmt.Sprintf("/temper/v1/operations/%d%s", id, rest)
}

// wayTo are the verbs that bring a node at rest to where e is possible.
func (n aboutNode) wayTo(e node.Event) []help {
	var out []help
	for _, step := range node.VerbsTo(n.ProvisionState, e) {
		i := slices.IndexFunc(node.Verbs, func(v node.Verb) bool { return v.Event == step })
		v, when := node.Verbs[i], "first"
		if len(out) > 0 {
			when = "then"
		}
		out = append(out, help{
			Command: n.command("node " + string(step) + " %s"), Effect: when + " makes it " + string(v.State),
			Method: http.MethodPost, Path: n.path("/temper/v1", "/operations"), Body: gin.H{"verb": v.Target},
		})
	}
	return out
}
