package conductor

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// fakeStep does nothing for as long as the settings say of the step's interface.
func fakeStep(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	return done, t.pretend(ctx, step.Interface)
}

// fakeCleaning does nothing for as long as the settings say of cleaning. Steps of the interface
// deploy have another time.
func fakeCleaning(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	return done, t.pretend(ctx, "clean")
}

func (t *task) pretend(ctx context.Context, what string) error {
	if t.Fake == nil {
		return nil
	}
	return t.Fake(ctx, what)
}

// fakeMode is fakeStep for a boot mode or Secure Boot, which the node then has.
func fakeMode(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := t.pretend(ctx, step.Interface); err != nil {
		return 0, err
	}
	found := node.Inspection{BootMode: textArg(step.Args, node.ArgTarget)}
	if on, ok := step.Args[node.ArgTarget].(bool); ok {
		found.SecureBoot = &on
	}
	return done, t.saveInspection(ctx, found)
}
