//go:build !linux

package qemu

import "os/exec"

// dieWithParent does nothing: only Linux can.
func dieWithParent(*exec.Cmd) {}
