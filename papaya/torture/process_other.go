//go:build !linux

package torture

import "syscall"

// apart gives a process a group of its own, so that a Ctrl-C is not for it. The process outlives
// this one if that is killed.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
