package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The types are those of Ironic's notifications.
func TestAChangeOfANodeIsTold(t *testing.T) {
	deploy, power := &Operation{Kind: KindDeploy}, &Operation{Kind: KindPower}
	for name, c := range map[string]struct {
		before, after Node
		fields        []string
		types         []string
	}{
		"nothing":                 {Node{ProvisionState: Active}, Node{ProvisionState: Active}, nil, nil},
		"work begins":             {Node{ProvisionState: Available}, Node{ProvisionState: Deploying}, nil, []string{"baremetal.node.provision_set.start"}},
		"it goes on":              {Node{ProvisionState: Deploying}, Node{ProvisionState: DeployWait}, nil, []string{"baremetal.node.provision_set.success"}},
		"it is done":              {Node{ProvisionState: Deploying}, Node{ProvisionState: Active}, nil, []string{"baremetal.node.provision_set.end"}},
		"it has failed":           {Node{ProvisionState: Deploying}, Node{ProvisionState: DeployFailed}, nil, []string{"baremetal.node.provision_set.error"}},
		"verifying has failed":    {Node{ProvisionState: Verifying}, Node{ProvisionState: Enroll}, nil, []string{"baremetal.node.provision_set.error"}},
		"without work":            {Node{ProvisionState: Manageable}, Node{ProvisionState: Available}, nil, []string{"baremetal.node.provision_set.success"}},
		"the first reading":       {Node{}, Node{PowerState: PowerOn}, nil, nil},
		"somebody switched it":    {Node{PowerState: PowerOn}, Node{PowerState: PowerOff}, nil, []string{"baremetal.node.power_state_corrected.success"}},
		"a step switched it":      {Node{PowerState: PowerOn}, Node{PowerState: PowerOff, Operation: deploy}, nil, []string{"baremetal.node.power_set.end"}},
		"a request switched it":   {Node{PowerState: PowerOn}, Node{PowerState: PowerOff, Operation: power}, nil, nil},
		"maintenance":             {Node{}, Node{Maintenance: true}, nil, []string{"baremetal.node.maintenance_set.end"}},
		"another reason":          {Node{Maintenance: true}, Node{Maintenance: true, MaintenanceReason: "x"}, nil, []string{"baremetal.node.maintenance_set.end"}},
		"a fault without it":      {Node{Fault: FaultPower}, Node{}, nil, nil},
		"the console":             {Node{ConsoleEnabled: true}, Node{}, nil, []string{"baremetal.node.console_set.end"}},
		"a field":                 {Node{}, Node{}, []string{"extra/a", "deploy_interface"}, []string{"baremetal.node.update.end"}},
		"a reason alone":          {Node{}, Node{}, []string{"protected_reason"}, nil},
		"the end of its instance": {Node{InstanceUUID: "a"}, Node{}, nil, []string{"baremetal.node.update.end"}},
		"no instance_info":        {Node{InstanceInfo: map[string]any{}}, Node{}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var types []string
			for _, e := range c.after.Tell(&c.before, c.fields) {
				types = append(types, e.Type)
			}
			require.Equal(t, c.types, types)
		})
	}
}
