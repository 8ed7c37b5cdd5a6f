package api

import (
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// view is a node as one request sees it: the row, and what is derived from the
// conductors and the open operation.
type view struct {
	*node.Node
	minor       int
	fleet       *fleet
	workflowURL string
}

// owner is the conductor that the ring maps the node to; "" = none covers it.
func (v *view) owner() string { return v.fleet.owner(v.Node) }

// waitingFor is what the open operation waits for, for people; "" = nothing.
func (v *view) waitingFor() string {
	return v.fleet.waitingFor(v.Operation)
}

func (v *view) reservation() string { return v.fleet.reservation(v.Node) }

// The states in which a current step is shown, and the steps that are.
var (
	deployingStates = []node.State{node.Deploying, node.DeployWait, node.DeployHold}
	cleaningStates  = []node.State{node.Cleaning, node.CleanWait, node.CleanHold}
)

// step is deploy_step or clean_step: the step that the open operation is at.
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
		"args": dict(s.Args), "abortable": s.Abortable,
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
		out["temper_power_read_at"] = timestamp(v.PowerReadAt)
	}
	if len(v.Owed) > 0 { // what could not be undone yet
		out["temper_owed"] = v.Owed
		if v.OwedError != "" {
			out["temper_owed_error"] = v.OwedError
		}
	}
	if a := v.Agent; a != nil && a.URL != "" {
		out["agent_url"] = a.URL
		out["agent_version"] = orNull(a.Version)
		out["agent_last_heartbeat"] = timestamp(a.LastHeartbeatAt)
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
		"waiting_for": orNull(v.waitingFor()), "gives_up_at": timestamp(o.WaitingUntil),
		"workflow_url": orNull(v.workflowURL),
	}
	if at := o.CurrentStep(); at != nil {
		s["step"], s["attempt"], s["last_error"] = at.Name(), at.Attempts, orNull(at.LastError)
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
	out := dict(v.InstanceInfo)
	for _, key := range []string{"configdrive", "image_url"} {
		if out[key] != nil && out[key] != "" && out[key] != mask.Masked {
			out = copied(out)
			out[key] = mask.Masked
		}
	}
	return out
}

func copied(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
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

// render shows the attributes of a node, with its links.
func (s *Server) render(c *gin.Context, v *view, attrs []*nodeAttribute, whole bool) map[string]any {
	out := shown(v, attrs)
	base, self := publicURL(c), "nodes/"+v.UUID
	out["links"] = links(base, self)
	if !whole {
		return out
	}
	for _, sub := range []struct {
		name  string
		since int
	}{{"ports", 1}, {"states", 14}, {"portgroups", 24}, {"volume", 32}} {
		if v.minor >= sub.since {
			out[sub.name] = links(base, self+"/"+sub.name)
		}
	}
	return out
}

// timestamp is ISO 8601 with an offset, as Python's isoformat writes it; null for none.
func timestamp(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	if u.Nanosecond() == 0 {
		return u.Format("2006-01-02T15:04:05-07:00")
	}
	return u.Format("2006-01-02T15:04:05.000000-07:00")
}

// orNull is null for "", which is how a row says "none".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// numberOrNull is n, null where it is 0.
func numberOrNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func boolOrNull(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

// dict and list are never null in an answer.
func dict(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
