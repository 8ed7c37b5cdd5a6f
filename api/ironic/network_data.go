package ironic

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/networkdata"
	"go.temper.dev/temper/internal/node"
)

// setNetworkData sets network_data: empty, or the network of the machine that the agent runs on. What the agent could not follow is
// refused here, where a person sees it.
func setNetworkData(n *node.Node, v any) error {
	if err := nodeSet.Dict("network_data", func(n *node.Node) *map[string]any { return &n.NetworkData })(n, v); err != nil {
		return err
	}
	if len(n.NetworkData) == 0 {
		return nil
	}
	if _, err := networkdata.Parse(n.NetworkData); err != nil {
		return fault.New(fault.Invalid, "Invalid network_data: %w", err)
	}
	return nil
}
