package system_test

import (
	"testing"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// A machine whose agent reaches the API only by IPv6, from an address that it makes of what a router announces, is deployed.
func TestAVirtualMachineCallsByIPv6(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	n := virtualAt(t, "::1", "fec0::2", "vm-six", builtISO(t), sim.Config{Firmware: sim.BIOS})
	disk := partitioned()
	copy(disk, restarting())
	n.diskImage(disk)
	deploy := n.provision("active", nil)
	n.done(deploy, "active")
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_reset On->On")
}
