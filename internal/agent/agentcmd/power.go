//go:build linux

package agentcmd

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// switchPower switches the machine off, or restarts it, after the kernel has written what it has.
func switchPower(reboot bool) error {
	unix.Sync()
	command := unix.LINUX_REBOOT_CMD_POWER_OFF
	if reboot {
		command = unix.LINUX_REBOOT_CMD_RESTART
	}
	if err := unix.Reboot(command); err != nil {
		return fmt.Errorf("switch this machine off: %w", err)
	}
	return nil
}
