package ironic

import (
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// nodeBody shows one node.
func (s *Server) nodeBody(c *gin.Context, n *node.Node, attrs []*nodeAttribute, whole bool) (any, error) {
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return nil, err
	}
	return s.render(c, s.viewOf(c, n, fl), attrs, whole), nil
}

func (s *Server) viewOf(c *gin.Context, n *node.Node, fl *intent.Fleet) *view {
	v := &view{Node: n, minor: format.Minor(c), fleet: fl, sight: sightOf(c, n)}
	if n.Operation != nil {
		v.workflowURL = s.WorkflowURL(n.Operation)
	}
	return v
}

// view is a node as one request sees it: the row, and what is derived from the
// conductors and the open operation.
type view struct {
	*node.Node
	minor       int
	fleet       *intent.Fleet
	workflowURL string
	sight
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
func (v *view) internalInfo() map[string]any {
	out := make(map[string]any, len(v.DriverInternalInfo)+8)
	for k, val := range v.DriverInternalInfo {
		out[k] = val
	}
	if v.PowerReadAt != nil {
		out["temper_power_read_at"] = format.Timestamp(v.PowerReadAt)
	}
	if len(v.Owed) > 0 { // what could not be undone yet
		out["temper_owed"] = v.Owed
		if v.OwedError != "" {
			out["temper_owed_error"] = v.OwedError
		}
	}
	if a := v.Agent; a != nil && a.URL != "" {
		out["agent_url"] = a.URL
		out["agent_version"] = format.OrNull(a.Version)
		out["agent_last_heartbeat"] = format.Timestamp(a.LastHeartbeatAt)
	}
	if v.Operation != nil {
		out["temper"] = v.story()
		v.addSteps(out)
	}
	return out
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

// instanceInfo hides what may hold a way to the image, as Ironic does.
func (v *view) instanceInfo() map[string]any {
	out := format.Dict(v.InstanceInfo)
	for _, key := range []string{"configdrive", "image_url"} {
		if out[key] != nil && out[key] != "" && out[key] != mask.Masked {
			out = format.Copied(out)
			out[key] = mask.Masked
		}
	}
	return out
}

// shownState is a provision state as older versions know it.
func shownState(s node.State, minor int) any {
	switch {
	case s == node.Available && minor < 2:
		return nil
	case s == node.InspectWait && minor < 39:
		return node.Inspecting
	}
	return s
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
func (s *Server) render(c *gin.Context, v *view, attrs []*nodeAttribute, whole bool) map[string]any {
	out := format.Show(v, attrs)
	base, self := format.PublicURL(c), "nodes/"+v.UUID
	out["links"] = format.Links(base, self)
	if !whole {
		return out
	}
	for _, sub := range []struct {
		name  string
		since int
	}{{"ports", 1}, {"states", 14}, {"portgroups", 24}, {"volume", 32}} {
		if v.minor >= sub.since {
			out[sub.name] = format.Links(base, self+"/"+sub.name)
		}
	}
	return out
}
