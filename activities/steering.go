package activities

import (
	"slices"
	"time"

	"go.temper.dev/temper/internal/node"
)

// ByReconciliation is the user in histories for what reconciliation did by itself.
const ByReconciliation = "reconciliation"

// Resume records that the node's operation is no longer paused in Temporal.
func Resume(n *node.Node) node.OperationChange {
	n.Operation.Resume(time.Now())
	return node.OperationChange{Event: node.HistoryEvent{
		Event: string(n.Operation.Kind) + " goes on: it is no longer paused in Temporal", EventType: "steering", User: ByReconciliation,
	}}
}

// Untried returns the hosts whose names are not in tried.
func Untried(hosts []node.Host, tried []string) []node.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h node.Host) bool { return slices.Contains(tried, h.Name) })
}
