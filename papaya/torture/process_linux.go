package torture

import "syscall"

// apart gives a process a group of its own, so that a Ctrl-C is not for it, and lets the kernel
// kill it when this one ends in any way.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
