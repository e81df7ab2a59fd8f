//go:build !plan9

package socks

import "syscall"

// dialErrors are the errors of dials with a code of their own.
var dialErrors = []struct {
	err  error
	code Code
}{
	{syscall.ECONNREFUSED, Refused},
	{syscall.ENETUNREACH, NetworkUnreachable},
	{syscall.EHOSTUNREACH, HostUnreachable},
}
