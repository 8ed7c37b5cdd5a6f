package pgserver

import "syscall"

// endWithParent has the kernel send SIGQUIT, PostgreSQL's immediate shutdown.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
