package intent

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Helped adds to err what can be done about it, as far as that depends on the node n and
// on the event e that was asked for. e is "" if the request was not about the life cycle.
func Helped(err error, n *node.Node, e node.Event) error {
	if err == nil {
		return nil
	}
	about := HelpAbout(n)
	var list []format.Help
	switch code := fault.CodeOf(err); {
	case code == fault.NodeLocked, code == fault.NodeInTransition, code == fault.StateNotAllowed && n.Operation != nil:
		list = about.held()
	case code == fault.StateNotAllowed && e != "":
		list = about.wayTo(e)
	case code == fault.NodeProtected:
		list = []format.Help{about.patch("node set %s --protected=false", "lifts that", "/protected", false)}
	case code == fault.NodeInMaintenance:
		list = []format.Help{{
			Command: about.command("node maintenance unset %s"), Effect: "ends the maintenance",
			Method: http.MethodDelete, Path: about.path("/v1", "/maintenance"),
		}}
	case code == fault.ValidationFailed, code == fault.NotSupported, code == fault.ImageInvalid:
		list = []format.Help{{
			Command: about.command("node validate %s"), Effect: "shows what is missing",
			Method: http.MethodGet, Path: about.path("/v1", "/validate"),
		}}
	}
	if list == nil {
		return err
	}
	return format.WithHelp(err, list)
}

// NodeHelp makes help about a node.
type NodeHelp struct{ *node.Node }

// HelpAbout is what can be done about n.
func HelpAbout(n *node.Node) NodeHelp { return NodeHelp{n} }

// maxLabel bounds a node's name in a command, in bytes. Instead of a longer name the
// command has the UUID.
const maxLabel = 64

func (n NodeHelp) command(words string) string {
	label := n.Name
	if label == "" || len(label) > maxLabel {
		label = n.UUID
	}
	return "temper " + fmt.Sprintf(words, label)
}

func (n NodeHelp) path(root, rest string) string { return root + "/nodes/" + n.UUID + rest }

func (n NodeHelp) patch(words, effect, path string, value any) format.Help {
	return format.Help{
		Command: n.command(words), Effect: effect, Method: http.MethodPatch, Path: n.path("/v1", ""),
		Body: []gin.H{{"op": "replace", "path": path, "value": value}},
	}
}

// held returns how to see what the open operation does, and how to end it.
func (n NodeHelp) held() []format.Help {
	out := []format.Help{n.Why()}
	o := n.Operation
	if o == nil || o.Asked.Interrupts() {
		return out
	}
	if step := o.Undecided(); step != nil && o.TemporalPause == nil {
		return append(out, decisions(o.ID, step.Choices())...)
	}
	if o.TemporalPause != nil {
		out = append(out, format.Help{
			Command: Command(nil, explain.Action{Do: explain.UnpauseOperation, Operation: o.ID}), Effect: "lets it go on", Method: http.MethodPost, Path: OperationPath(o.ID, "/unpause"), Body: gin.H{},
		})
	}
	return append(out, format.Help{
		Command: Command(nil, explain.Action{Do: explain.CancelOperation, Operation: o.ID}), Effect: "ends it",
		Method: http.MethodPost, Path: OperationPath(o.ID, "/cancel"), Body: gin.H{},
	})
}

// Why is the command that shows what holds the node.
func (n NodeHelp) Why() format.Help {
	return format.Help{Command: n.command("node why %s"), Effect: "shows what holds it", Method: http.MethodGet, Path: n.path("/temper/v1", "/why")}
}

// actionEffects says what each decision does to the step that failed.
var actionEffects = map[node.Action]string{
	node.ActionRetry: "runs the failed step again", node.ActionSkip: "leaves the failed step out", node.ActionAbort: "ends it",
}

func decisions(id int64, choices []node.Action) []format.Help {
	var out []format.Help
	for _, a := range choices {
		out = append(out, format.Help{
			Command: Command(nil, explain.Action{Do: explain.Decide, Operation: id, Decision: a}), Effect: actionEffects[a],
			Method: http.MethodPost, Path: OperationPath(id, "/decision"), Body: gin.H{"action": a},
		})
	}
	return out
}

// OperationPath is the path of an operation, followed by rest.
func OperationPath(id int64, rest string) string {
	return fmt.Sprintf("/temper/v1/operations/%d%s", id, rest)
}

// wayTo returns the verbs that bring a node that no operation holds to a state in which
// e is possible.
func (n NodeHelp) wayTo(e node.Event) []format.Help {
	var out []format.Help
	for _, step := range node.VerbsTo(n.ProvisionState, e) {
		i := slices.IndexFunc(node.Verbs, func(v node.Verb) bool { return v.Event == step })
		v, when := node.Verbs[i], "first"
		if len(out) > 0 {
			when = "then"
		}
		out = append(out, format.Help{
			Command: n.command("node " + string(step) + " %s"), Effect: when + " makes it " + string(v.State),
			Method: http.MethodPost, Path: n.path("/temper/v1", "/operations"), Body: gin.H{"verb": v.Target},
		})
	}
	return out
}
