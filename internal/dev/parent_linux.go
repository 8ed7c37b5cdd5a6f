package dev

import "syscall"

// dieWithParent has the kernel kill the child when its parent is gone.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
