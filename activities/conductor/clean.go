package conductor

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// prepareCleaning boots the agent and merges its clean steps into the plan. Fake hardware has
// no agent.
func prepareCleaning(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.isFake("deploy") {
		return done, fakeStep(ctx, t, "clean")
	}
	o, err := bootAgent(ctx, t, step)
	if err != nil || o != done {
		return o, err
	}
	return done, t.mergeAgentSteps(ctx)
}

// tearDownCleaning leaves the server off, without media and without an agent.
func tearDownCleaning(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return t.powerDown(ctx, step)
}
