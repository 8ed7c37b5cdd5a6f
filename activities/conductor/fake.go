package conductor

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

// fakeStep does nothing for as long as the settings say.
func fakeStep(ctx context.Context, t *task, iface string) error {
	if t.Fake == nil {
		return nil
	}
	return t.Fake(ctx, iface)
}

// isFake reports whether fake hardware implements the interface.
func (t *task) isFake(iface string) bool {
	return t.node.Implementation(iface).Means == node.MeansFake
}
