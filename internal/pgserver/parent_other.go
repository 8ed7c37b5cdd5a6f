//go:build !linux

package pgserver

import "syscall"

func endWithParent(*syscall.SysProcAttr) {}
