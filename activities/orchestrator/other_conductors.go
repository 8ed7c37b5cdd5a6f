package orchestrator

import (
	"context"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/node"
)

// Elsewhere returns a conductor that covers the operation's node and is not in tried, for a
// step whose hardware did not answer the conductors in tried. If there is none, the name is "".
func (a *Operations) Elsewhere(ctx context.Context, operation int64, tried []string) (node.Host, error) {
	o, err := a.Store.Operation(ctx, operation)
	if err != nil {
		return node.Host{}, temporalError(err)
	}
	hosts, err := a.Store.Covering(ctx, o.NodeUUID)
	if err != nil {
		return node.Host{}, temporalError(err)
	}
	left := activities.Untried(hosts, tried)
	if len(left) == 0 {
		return node.Host{}, nil
	}
	// Chosen by the operation, so that the steps of a conductor that is cut off are spread.
	return left[int(operation%int64(len(left)))], nil
}
