package workflows

import (
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/node"
)

// Types are the workflow types by the kind of operation. All take the same
// course; what differs is the plan of steps (node.Plan), what the steps do
// (activities.Steps) and where the node ends (node.Closing).
var Types = map[node.Kind]string{
	node.KindManage:   "ManageNode",
	node.KindProvide:  "ProvideNode",
	node.KindClean:    "CleanNode",
	node.KindInspect:  "InspectNode",
	node.KindDeploy:   "DeployNode",
	node.KindRebuild:  "RebuildNode",
	node.KindUndeploy: "UndeployNode",
	node.KindPower:    "PowerNode",
	node.KindUndo:     "UndoNode",
}

// Operate is the workflow of every operation, registered under each type.
func Operate(ctx workflow.Context, in Input) error { return operate(ctx, in) }
