package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// runCommand has the agent run one command. It reads the agent's list of commands
// before it sends the command, records the command before it sends it, and polls until
// the command is done. Meanwhile the node is in its wait state. reached is false if
// somebody asked to end the operation and the step may be left.
func (t *task) runCommand(ctx context.Context, step *node.Step, o agent.Order, params any) (res *agent.Result, reached bool, err error) {
	c, err := t.agent(ctx)
	if err != nil {
		if t.node.Agent == nil {
			err = &agentLostError{err: err, gone: true}
		}
		return nil, false, err
	}
	next := backoff(t.Settings.AgentPoll)
	for {
		list, err := c.Commands(ctx)
		if err != nil {
			return nil, false, agentLost(step, o, err)
		}
		if w := t.op.StepWait; w != nil && w.For == node.WaitAgent {
			t.arrived()
		}
		d := agent.Next(o, issuedOf(step, o), list)
		switch d.Action {
		case agent.ActDone:
			t.arrived()
			return d.Found, true, nil
		case agent.ActRebooted:
			return nil, false, agentLost(step, o, d.Err)
		case agent.ActFail, agent.ActRelist:
			step.Issued = nil
			return nil, false, d.Err
		case agent.ActIssue:
			answer, lost, err := t.sendCommand(ctx, c, step, agent.Issue(o, list), params)
			if err != nil {
				return nil, false, err
			}
			if answer.Status == agent.Succeeded { // synchronous: the agent need not be there to list it
				return &answer, true, nil
			}
			if t.sentCommand(step, o, lost); lost != nil && time.Since(*t.op.StepWait.UnreadSince) >= node.StallLimit {
				return nil, false, lost
			}
		case agent.ActWait, agent.ActBusy:
			if err := t.sawCommand(ctx, step, o, d); err != nil {
				return nil, false, err
			}
			if d.Action == agent.ActWait {
				// The command is running. It may take hours, and errors of polling that
				// are spread over them must not add up to a failure of the step.
				step.Failures, step.BusySince = 0, nil
				if err := t.hardwareAnswered(ctx); err != nil {
					return nil, false, err
				}
			}
			if t.op.MayLeave(step, node.NotBlocked) {
				return nil, false, nil
			}
			if err := t.moveToWait(ctx); err != nil {
				return nil, false, err
			}
		}
		if err := sleep(ctx, next()); err != nil {
			return nil, false, err
		}
		if err := t.guardAndTell(ctx); err != nil {
			return nil, false, err
		}
	}
}

// waitForCommand notes that the step waits for the agent to run o.
func (t *task) waitForCommand(step *node.Step, o agent.Order) {
	since := time.Now()
	if step.Issued != nil {
		since = step.Issued.At
	}
	t.waitFor(node.Wait{For: node.WaitCommand, Subject: o.String(), Since: since, Every: t.Settings.AgentPoll})
}

// sentCommand notes that the step waits for the agent to run o, which was sent just now. lost is why that was not answered, nil
// if it was. As long as the agent shows and answers none of several sendings, it is silent since the first.
func (t *task) sentCommand(step *node.Step, o agent.Order, lost error) {
	if w := t.op.StepWait; lost == nil || w == nil || w.For != node.WaitCommand || w.Subject != o.String() || w.Unread == "" {
		t.waitForCommand(step, o)
	}
	if t.op.StepWait.Unanswered = lost != nil; lost != nil {
		if t.op.StepWait.Until == nil { // it is sent again until then
			t.triesUntil(step, node.StallLimit)
		}
		t.missed(lost)
	}
}

// sawCommand notes what the agent's list says of o.
func (t *task) sawCommand(ctx context.Context, step *node.Step, o agent.Order, d agent.OrderDecision) error {
	if d.Action == agent.ActBusy { // it was not sent yet
		if t.op.StepWait == nil || t.op.StepWait.For != node.WaitCommand {
			t.waitForCommand(step, o)
		}
		t.saw(fault.Text(d.Err))
		return nil
	}
	t.waitForCommand(step, o)
	t.op.StepWait.Unanswered = false
	now := time.Now().UTC()
	if p := d.Found.Progress(); p != nil {
		t.op.StepWait.Advance(p.Fraction, p.Bytes, now)
		t.op.StepWait.Pace(step, now)
	}
	t.saw(string(d.Found.Status))
	if why := t.op.LateCause(now); step.LastError == "" && step.Cause != why {
		step.Cause = why // saved at once: if somebody cancels the operation because of that, the step still tells it
		return t.save(ctx)
	}
	return nil
}

// agentLostError is the error when the outcome of a command can't be read any more: the
// agent that had it does not answer, was rebooted, or was replaced by another one.
type agentLostError struct {
	err  error
	gone bool // the server was switched off, so that waiting for the agent is pointless
}

func (e *agentLostError) Error() string { return e.err.Error() }
func (e *agentLostError) Unwrap() error { return e.err }

// lostAgent returns the agentLostError that err is, nil if it is none. Only then may a step begin anew.
func lostAgent(err error) *agentLostError {
	var lost *agentLostError
	if !errors.As(err, &lost) {
		return nil
	}
	return lost
}

func agentLost(step *node.Step, o agent.Order, err error) error {
	if issuedOf(step, o) == nil {
		return err
	}
	return &agentLostError{err: err}
}

// restartStep makes a step whose agent was lost start again, if the table of steps
// allows it, and reports whether it does. spent means that the step has failed as often
// as it may.
func (t *task) restartStep(step *node.Step, err error, spent bool) bool {
	lost := lostAgent(err)
	if lost == nil || !spent && !lost.gone || t.op.MayLeave(step, node.NotBlocked) || !step.Restart(fault.Text(err)) {
		return false
	}
	t.op.ExpectAnew(step, time.Now().UTC())
	return true
}

// bootAgain boots the ramdisk again for a step that starts again.
func (t *task) bootAgain(ctx context.Context, step *node.Step) (outcome, error) {
	o, err := bootAgent(ctx, t, step)
	if err != nil || o != done {
		return o, err
	}
	step.Restarting, step.Phase = false, ""
	t.op.ExpectAnew(step, time.Now().UTC())
	return done, t.save(ctx)
}

// moveToWait moves the node to its wait state, unless it is there already. It is not if
// another conductor sent the command and died before it recorded the move.
func (t *task) moveToWait(ctx context.Context) error {
	if node.Waits(t.node.ProvisionState) {
		return nil
	}
	t.move(node.EventWait)
	return t.save(ctx)
}

// sendCommand records the command and sends it. A lost answer is no failure yet, because the
// agent's list shows whether the command arrived. Then lost says why there was no answer.
func (t *task) sendCommand(ctx context.Context, c Agent, step *node.Step, i agent.Issued, params any) (answer agent.Result, lost, err error) {
	step.Issued = &node.Issued{At: time.Now().UTC(), Command: i.Command, Before: i.Before, After: i.After}
	if !node.Waits(t.node.ProvisionState) {
		t.move(node.EventWait)
	}
	t.pending.Phase = node.Running
	if err := t.save(ctx); err != nil {
		return agent.Result{}, nil, err
	}
	answer, err = c.Start(ctx, i.Command, params)
	if fault.Is(err, fault.Unreachable) && ctx.Err() == nil {
		return agent.Result{}, err, nil
	}
	return answer, nil, err
}

func issuedOf(step *node.Step, o agent.Order) *agent.Issued {
	if step.Issued == nil || step.Issued.Command != o.Command {
		return nil
	}
	return &agent.Issued{Order: o, Before: step.Issued.Before, After: step.Issued.After}
}

// agentFamily returns the extension of the agent that runs the operation's steps.
func (t *task) agentFamily() agent.Family {
	return agent.Family(t.op.Kind.Spec().Family)
}

// runAgentStep runs a step that the agent offers.
func runAgentStep(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Restarting {
		if o, err := t.bootAgain(ctx, step); err != nil || o != done {
			return o, err
		}
	}
	if step.Phase != "" {
		return t.afterReboot(ctx, step)
	}
	f := t.agentFamily()
	run, err := t.runStepParams(ctx, step, f)
	if err != nil {
		return 0, err
	}
	o := agent.Order{Command: f.Execute(), Interface: step.Interface, Step: step.Step}
	res, reached, err := t.runCommand(ctx, step, o, run)
	switch {
	case err != nil:
		return 0, err
	case !reached:
		return endAsked, nil
	}
	for _, e := range res.Erasures() {
		t.addNews(node.TimelineErased, step, e.Words())
	}
	switch {
	case t.rebootRequested(step):
		return t.afterReboot(ctx, step)
	}
	return done, nil
}

// afterReboot boots the agent again after a step that asked for a reboot. The step is
// done when the agent of the new boot has called.
func (t *task) afterReboot(ctx context.Context, step *node.Step) (outcome, error) {
	if step.Phase == "" {
		step.Issued = nil
		step.Phase = "reboot"
		if err := t.save(ctx); err != nil {
			return 0, err
		}
	}
	if step.Phase == "reboot" {
		if _, err := powerOff(ctx, t, step); err != nil {
			return 0, err
		}
		step.Phase = phaseOff
	}
	return bootAgent(ctx, t, step)
}

func (t *task) rebootRequested(step *node.Step) bool {
	for _, s := range t.agentSteps() {
		if s.Interface == step.Interface && s.Step == step.Step {
			return s.RebootRequested
		}
	}
	return false
}

// mergeAgentSteps asks the agent for its steps and merges them into the plan by
// Ironic's rules. What the agent offered is kept on the node: later boots and
// other conductors need it.
func (t *task) mergeAgentSteps(ctx context.Context) error {
	c, err := t.agent(ctx)
	if err != nil {
		return err
	}
	f := t.agentFamily()
	nodeDict, ports, err := t.nodeForAgent(ctx)
	if err != nil {
		return err
	}
	var lists agent.StepLists
	if err := t.askAgent(ctx, func() (err error) {
		lists, err = c.ListSteps(ctx, f, agent.ListSteps{Node: nodeDict, Ports: ports})
		return err
	}); err != nil {
		return err
	}
	var cached []agent.Step
	var offered []plan.AgentStep
	for _, steps := range lists.Of(f) {
		for _, s := range steps {
			cached = append(cached, s)
			offered = append(offered, plan.AgentStep{
				Interface: s.Interface, Step: s.Step, Priority: int(s.Priority), Abortable: s.Abortable, Args: argSpecs(s.ArgsInfo),
			})
		}
	}
	merged, err := plan.Merge(t.node, t.op.Kind, t.op.Steps, offered)
	if err != nil {
		return err
	}
	t.op.Steps = merged
	internal := map[string]any{
		"agent_cached_" + string(f) + "_steps": cached,
		"hardware_manager_version":             lists.Versions,
	}
	t.pending.Internal = mergeMaps(t.pending.Internal, internal)
	t.node.DriverInternalInfo = mergeMaps(t.node.DriverInternalInfo, internal)
	return nil
}

// agentSteps returns the steps that the agent offered, as stored with the node.
func (t *task) agentSteps() []agent.Step {
	raw, err := json.Marshal(t.node.DriverInternalInfo["agent_cached_"+string(t.agentFamily())+"_steps"])
	if err != nil {
		return nil
	}
	var out []agent.Step
	if jsonvalue.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// argSpecs reads the agent's argsinfo: {name: {description, required}}.
func argSpecs(info map[string]any) map[string]node.ArgSpec {
	out := make(map[string]node.ArgSpec, len(info))
	for name, v := range info {
		about, _ := v.(map[string]any)
		required, _ := about["required"].(bool)
		description, _ := about["description"].(string)
		out[name] = node.ArgSpec{Required: required, Description: description, Secret: mask.IsSecretKey(name)}
	}
	return out
}

func mergeMaps(m, more map[string]any) map[string]any {
	out := make(map[string]any, len(m)+len(more))
	maps.Copy(out, m)
	maps.Copy(out, more)
	return out
}

func (t *task) runStepParams(ctx context.Context, step *node.Step, f agent.Family) (agent.RunStep, error) {
	nodeDict, ports, err := t.nodeForAgent(ctx)
	if err != nil {
		return agent.RunStep{}, err
	}
	versions, _ := t.node.DriverInternalInfo["hardware_manager_version"].(map[string]any)
	run := agent.RunStep{
		Step: agent.Step{
			Step: step.Step, Interface: step.Interface, Priority: agent.Number(step.Priority),
			Abortable: step.Abortable, Args: t.stepArgs(step),
		},
		Node: nodeDict, Ports: ports,
	}
	if f == agent.DeployFamily {
		run.DeployVersion = versions
	} else {
		run.CleanVersion = versions
	}
	return run, nil
}
