package conductor

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// fakeStep obeys: it takes as long as the settings say.
func fakeStep(ctx context.Context, t *task, iface string) error {
	if t.Fake == nil {
		return nil
	}
	return t.Fake(ctx, iface)
}

// isFake: the step's interface is implemented by fake hardware.
func (t *task) isFake(iface string) bool {
	return t.node.Implementation(iface).Means == node.MeansFake
}
