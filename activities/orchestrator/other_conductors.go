package orchestrator

import (
	"context"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/node"
)

// Elsewhere picks a conductor for a step whose hardware gave the ones in tried no
// answer: it covers the operation's node, and is none of them. No name: there is none.
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
	// Not the same one for every node: the steps of a conductor that is cut off spread.
	return left[int(operation%int64(len(left)))], nil
}
