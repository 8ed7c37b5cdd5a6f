//go:build linux

package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
)

// What the steps do with disks is tested in package softraid and, with a kernel that has md, by the virtual machine of test/system.
func TestGivenDisksGetNoSoftwareRAID(t *testing.T) {
	t.Parallel()
	r := start(t, newIronic(t), nil)
	for command, steps := range map[string][]string{
		agent.ExecuteCleanStep: {"create_configuration", "delete_configuration"}, agent.ExecuteDeployStep: {"apply_configuration", "delete_configuration"},
	} {
		for _, name := range steps {
			begun, err := r.Start(t.Context(), command, agent.RunStep{Step: agent.Step{Step: name, Interface: "raid", Args: map[string]any{"raid_config": map[string]any{}}}})
			require.NoError(t, err)
			require.Contains(t, r.finish(t, begun.ID).Error.Text(), "software RAID is made of all disks of the machine", name)
		}
	}
}
