package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/node"
)

// ReadType is the workflow type of ReadBMC.
const ReadType = "ReadBMC"

// ReadInput says what is read of a node's BMC, by which conductors, and how long the client waits for it.
type ReadInput struct {
	conductor.ReadInput
	Group  string        `json:"group"`
	Driver string        `json:"driver"`
	Within time.Duration `json:"within"`
}

// ReadBMC has a conductor read something from a node's BMC. It is not an operation: it holds no node, and nothing depends on its
// end. If the conductor dies, the client may ask again.
func ReadBMC(ctx workflow.Context, in ReadInput) (node.BMCReading, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              node.QueueName(in.Group, in.Driver),
		ScheduleToCloseTimeout: in.Within,
		StartToCloseTimeout:    in.Within,
		Summary:                "read the " + string(in.What),
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	var out node.BMCReading
	err := workflow.ExecuteActivity(ctx, steps.ReadBMC, in.ReadInput).Get(ctx, &out)
	return out, err
}

// ReadAttributes are the search attributes of a reading of n's BMC.
func ReadAttributes(n *node.Node) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		NodeID.ValueSet(n.UUID), NodeName.ValueSet(keyword(cmp.Or(n.Name, n.UUID))),
		GroupName.ValueSet(GroupLabel(n.ConductorGroup)), DriverName.ValueSet(keyword(n.Driver)),
	)
}
