package ironic

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

func (s *Server) viewOf(c *gin.Context, n *node.Node, fl *intent.Fleet) *view {
	v := &view{Node: n, minor: format.Minor(c), fleet: fl, sight: sightOf(c, n)}
	if n.Operation != nil {
		v.workflowURL = s.WorkflowURL(n.Operation)
	}
	return v
}

// nodesShown returns what shows each node of a list.
func (s *Server) nodesShown(c *gin.Context, fl *intent.Fleet, attrs []*nodeAttribute, whole bool) func(*node.Listed) shownNode {
	links := format.NewLinkBase(c)
	return func(n *node.Listed) shownNode {
		v := s.viewOf(c, &n.Node, fl)
		v.documents = &n.Documents
		return shownNode{v, attrs, links, whole}
	}
}

// view is a node as one request sees it: the row, and what is derived from the
// conductors and the open operation.
type view struct {
	*node.Node
	minor       int
	fleet       *intent.Fleet
	workflowURL string
	documents   *node.Documents // of a node of a list; nil = the node's own
	sight
}

// dict is one of the node's JSON objects: of a node of a list its text, which of chooses, and otherwise the map.
func (v *view) dict(own map[string]any, of func(*node.Documents) []byte) any {
	if v.documents == nil {
		return format.Dict(own)
	}
	return jsonvalue.Text(of(v.documents))
}

// owner is the conductor that the ring maps the node to; "" = none covers it.
func (v *view) owner() string { return v.fleet.Owner(v.Node) }

// waitingFor is what the open operation waits for, for people; "" = nothing.
func (v *view) waitingFor() string {
	return v.fleet.WaitingFor(v.Operation)
}

func (v *view) reservation() string { return v.fleet.Reservation(v.Node) }

// The states in which a current step is shown, and the steps that are.
var (
	deployingStates = []node.State{node.Deploying, node.DeployWait, node.DeployHold}
	cleaningStates  = []node.State{node.Cleaning, node.CleanWait, node.CleanHold}
	servicingStates = []node.State{node.Servicing, node.ServiceWait, node.ServiceHold}
)

// step is deploy_step, clean_step or service_step: the step that the open operation is at.
// Ironic's own frame around them is code there, so core steps show as {}.
func (v *view) step(in []node.State) map[string]any {
	if v.Operation == nil || !slices.Contains(in, v.ProvisionState) {
		return map[string]any{}
	}
	at := v.Operation.CurrentStep()
	if at == nil || at.Source == node.SourceCore {
		return map[string]any{}
	}
	return shownStep(*at)
}

func shownStep(s node.Step) map[string]any {
	return map[string]any{
		"interface": s.Interface, "step": s.Step, "priority": s.Priority,
		"args": format.Dict(s.Args), "abortable": s.Abortable,
	}
}

// internalInfo is driver_internal_info: what drivers noted down, what is known
// of the agent, and the story of the open operation for stock clients. Agent
// tokens are in no dictionary and so never here.
func (v *view) internalInfo() any {
	added := make(map[string]any, len(v.DriverInternalInfo)+8)
	if v.documents == nil {
		maps.Copy(added, v.DriverInternalInfo)
	}
	if v.PowerReadAt != nil {
		added["temper_power_read_at"] = format.Timestamp(v.PowerReadAt)
	}
	if len(v.Owed) > 0 { // what could not be undone yet
		added["temper_owed"] = v.Owed
		if v.OwedError != "" {
			added["temper_owed_error"] = v.OwedError
		}
	}
	if a := v.Agent; a != nil && a.URL != "" {
		added["agent_url"] = a.URL
		added["agent_version"] = format.OrNull(a.Version)
		added["agent_last_heartbeat"] = format.Timestamp(a.LastHeartbeatAt)
	}
	if v.Operation != nil {
		added["temper"] = v.story()
		v.addSteps(added)
	}
	if v.documents == nil {
		return added
	}
	return joined{v.documents.DriverInternalInfo, added}
}

// joined is an object and what is added to it.
type joined struct {
	object []byte
	added  map[string]any
}

// AppendJSON makes joined a jsonvalue.Appender.
func (j joined) AppendJSON(b []byte) ([]byte, error) {
	text, err := jsonvalue.With(j.object, j.added)
	return append(b, text...), err
}

// story says what the node waits for, to whoever looks with a stock client.
func (v *view) story() map[string]any {
	o := v.Operation
	s := map[string]any{
		"operation": strconv.FormatInt(o.ID, 10), "kind": o.Kind, "state": o.State(),
		"step": nil, "attempt": 0, "last_error": nil,
		"waiting_for": format.OrNull(v.waitingFor()), "gives_up_at": format.Timestamp(o.WaitingUntil),
		"workflow_url": format.OrNull(v.workflowURL),
	}
	if at := o.CurrentStep(); at != nil {
		s["step"], s["attempt"], s["last_error"] = at.Name(), at.Attempts, format.OrNull(at.LastError)
	}
	return s
}

// addSteps puts Ironic's lists of steps and their index, which its clients read for progress.
func (v *view) addSteps(out map[string]any) {
	kind := ""
	switch {
	case slices.Contains(deployingStates, v.ProvisionState):
		kind = "deploy"
	case slices.Contains(cleaningStates, v.ProvisionState):
		kind = "clean"
	case slices.Contains(servicingStates, v.ProvisionState):
		kind = "service"
	default:
		return
	}
	steps, index, at := []map[string]any{}, any(nil), v.Operation.CurrentStep()
	for i := range v.Operation.Steps {
		s := &v.Operation.Steps[i]
		if s.Source == node.SourceCore || v.Operation.Kind.Spec().GivesBack && !s.Cleaning {
			continue
		}
		if s == at {
			index = len(steps)
		}
		steps = append(steps, shownStep(*s))
	}
	out[kind+"_steps"], out[kind+"_step_index"] = steps, index
}

// hiddenInstanceInfo may hold a way to the image, as Ironic sees it.
var hiddenInstanceInfo = []string{"configdrive", "image_url"}

// instanceInfo hides what may hold a way to the image, as Ironic does.
func (v *view) instanceInfo() any {
	if v.documents == nil {
		return withoutImage(v.InstanceInfo)
	}
	text := v.documents.InstanceInfo
	if slices.ContainsFunc(hiddenInstanceInfo, func(key string) bool { return bytes.Contains(text, []byte(key)) }) {
		return textWithoutImage(text)
	}
	return jsonvalue.Text(text)
}

func withoutImage(info map[string]any) map[string]any {
	out := format.Dict(info)
	for _, key := range hiddenInstanceInfo {
		if out[key] != nil && out[key] != "" && out[key] != mask.Masked {
			out = format.Copied(out)
			out[key] = mask.Masked
		}
	}
	return out
}

// textWithoutImage is the JSON of an instance_info, which is shown withoutImage.
type textWithoutImage []byte

// AppendJSON makes textWithoutImage a jsonvalue.Appender.
func (t textWithoutImage) AppendJSON(b []byte) ([]byte, error) {
	var info map[string]any
	if err := jsonvalue.Unmarshal(t, &info); err != nil {
		return nil, err
	}
	return jsonvalue.Append(b, withoutImage(info))
}

// shownState is a provision state as older versions know it.
func shownState(s node.State, minor int) any {
	switch {
	case s == node.Available && minor < 2:
		return nil
	case s == node.InspectWait && minor < 39:
		return string(node.Inspecting)
	}
	return string(s)
}

// shownHealth is the health of a node in Redfish's words, as Ironic shows it; null = its BMC does not say.
func shownHealth(s node.HealthStatus) any {
	switch s {
	case node.HealthOK:
		return "OK"
	case node.HealthWarning:
		return "Warning"
	case node.HealthCritical:
		return "Critical"
	}
	return nil
}

// render shows the attributes of a node, with its links.
func (s *Server) render(c *gin.Context, v *view, attrs []*nodeAttribute, whole bool) (jsonvalue.Text, error) {
	return shownNode{v, attrs, format.NewLinkBase(c), whole}.AppendJSON(nil)
}

// shownNode is a node with the attributes and links that an answer shows.
type shownNode struct {
	*view
	attrs []*nodeAttribute
	links format.LinkBase
	whole bool // with the links to what belongs to the node
}

// subresources are what a whole node links to, by the first version that has it.
var subresources = []struct {
	name  string
	since int
}{{"ports", 1}, {"states", 14}, {"portgroups", 24}, {"volume", 32}}

// AppendJSON makes shownNode a jsonvalue.Appender.
func (n shownNode) AppendJSON(b []byte) (_ []byte, err error) {
	b = append(b, '{')
	for _, a := range n.attrs {
		b = append(append(append(b, '"'), a.Name...), `":`...)
		if b, err = jsonvalue.Append(b, a.Value(n.view)); err != nil {
			return nil, err
		}
		b = append(b, ',')
	}
	b = n.links.Append(append(b, `"links":`...), "nodes", n.UUID)
	for _, sub := range subresources {
		if n.whole && n.minor >= sub.since {
			b = append(jsonvalue.AppendString(append(b, ','), sub.name), ':')
			b = n.links.Append(b, "nodes", n.UUID, sub.name)
		}
	}
	return append(b, '}'), nil
}
