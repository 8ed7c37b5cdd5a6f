//go:build !linux

package dev

import "syscall"

// dieWithParent does nothing, because this kernel has no such signal. Children outlive a supervisor that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
