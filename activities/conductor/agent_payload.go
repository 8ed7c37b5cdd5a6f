package conductor

import (
	"context"
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// nodeForAgent returns the node and its ports as commands to the agent contain them:
// Ironic's dictionaries, with every secret masked.
func (t *task) nodeForAgent(ctx context.Context) (map[string]any, []map[string]any, error) {
	ports, err := t.Store.NodePorts(ctx, t.node.UUID)
	if err != nil {
		return nil, nil, err
	}
	n := t.node
	dict := map[string]any{
		"uuid": n.UUID, "name": n.Name, "driver": n.Driver,
		"properties": n.Properties, "instance_info": n.InstanceInfo, "driver_internal_info": mergeMaps(n.DriverInternalInfo, t.Settings.Erasing.internal()),
		"driver_info": n.DriverInfo, "extra": n.Extra, "provision_state": string(n.ProvisionState),
		"target_provision_state": string(n.TargetProvisionState), "instance_uuid": n.InstanceUUID,
		"target_raid_config": n.TargetRAIDConfig, "raid_config": n.RAIDConfig, "resource_class": n.ResourceClass,
	}
	list := make([]map[string]any, 0, len(ports))
	for _, p := range ports {
		list = append(list, map[string]any{
			"uuid": p.UUID, "address": p.Address, "pxe_enabled": p.PXEEnabled, "node_uuid": n.UUID,
			"local_link_connection": p.LocalLinkConnection, "physical_network": p.PhysicalNetwork, "extra": p.Extra,
		})
	}
	return dict, list, nil
}

// stepArgs returns a step's arguments, with the secret ones decrypted.
func (t *task) stepArgs(step *node.Step) map[string]any {
	prefix := fmt.Sprintf("operation/%d/steps/", t.op.ID)
	mine := map[string]any{}
	for name, v := range t.sealed {
		if key, ok := strings.CutPrefix(name, prefix); ok {
			mine[key] = v
		}
	}
	return secret.ClearArgs(t.op.Steps, step.Index, mine)
}
