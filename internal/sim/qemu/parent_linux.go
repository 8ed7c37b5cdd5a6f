package qemu

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the process when the rack has died.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
