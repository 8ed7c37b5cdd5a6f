package conductor

import (
	"context"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/node"
)

// finalizeRescue gives the agent the hash of the password with which a person will log in. The agent sets it, answers, and
// ends its API, because the server is the person's from then on. If the answer is lost, and the agent does not answer any
// more, nobody knows whether the password is set, and the agent is booted again.
func finalizeRescue(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if step.Restarting {
		if o, err := t.bootAgain(ctx, step); err != nil || o != done {
			return o, err
		}
	}
	args := t.stepArgs(step)
	hash, _ := args[node.RescuePassword].(string)
	keys, _ := args[node.RescueKeys].(string)
	_, reached, err := t.runCommand(ctx, step, agent.Order{Command: agent.FinalizeRescue}, agent.RescueParams{Password: hash, Hashed: true, Keys: keys})
	if err != nil {
		return 0, err
	}
	if !reached {
		return endAsked, nil
	}
	// The server stays on, and the medium stays in the drive, because the rescue system may still read it. Whatever ends the
	// rescue, unrescue or undeploy, switches the server off and takes the medium away.
	t.undone(node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot)
	t.pending.ClearAgent = true
	t.node.Agent, t.agentClient = nil, nil
	return done, nil
}
