//go:build !linux

package dev

import "syscall"

// dieWithParent does nothing where the kernel has no such thing: there, children outlive a supervisor that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
