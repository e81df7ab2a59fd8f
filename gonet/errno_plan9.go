package gonet

import "syscall"

// The errors of other systems, which Plan 9 has no numbers for.
var (
	enetunreach   = syscall.NewError("network is unreachable")
	ehostunreach  = syscall.NewError("no route to host")
	eaddrinuse    = syscall.NewError("address already in use")
	eaddrnotavail = syscall.NewError("cannot assign requested address")
	emsgsize      = syscall.NewError("message too long")
	econnreset    = syscall.NewError("connection reset by peer")
	econnrefused  = syscall.NewError("connection refused")
	epipe         = syscall.NewError("broken pipe")
	edestaddrreq  = syscall.NewError("destination address required")
	enobufs       = syscall.NewError("no buffer space available")
)
