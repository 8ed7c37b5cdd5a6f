package conductor

import (
	"context"

	"go.temper.dev/temper/internal/agent"
)

// Agent is a conversation with the ramdisk agent of one boot.
type Agent interface {
	// Commands lists what the agent was told since it booted, oldest first.
	Commands(ctx context.Context) ([]agent.Result, error)
	// Start gives a command that takes a while, and returns when the agent has it. It
	// is not repeated: after a lost answer, Commands tells whether it arrived.
	Start(ctx context.Context, command string, params any) (agent.Result, error)
	ListSteps(ctx context.Context, f agent.Family, about agent.ListSteps) (agent.StepLists, error)
	GetPartitionUUIDs(ctx context.Context) (agent.PartitionUUIDs, error)
	// Disks returns the disks of the server, as an inventory has them.
	Disks(ctx context.Context) (inventory map[string]any, err error)
	// Logs returns what was logged since the server booted, as one text of at most agent.MaxLogs bytes and a line. It may have secrets in it.
	Logs(ctx context.Context) (string, error)
	Close()
}

// OpenAgent is Steps.OpenAgent for agents that are spoken to over HTTP.
func OpenAgent(t agent.Target, s agent.Settings) (Agent, error) {
	c, err := agent.NewClient(t, s)
	if err != nil {
		return nil, err
	}
	return c, nil
}
