//go:build !plan9

package gonet

import "syscall"

// The numbers of errors that Plan 9 does not have.
const (
	enetunreach   = syscall.ENETUNREACH
	ehostunreach  = syscall.EHOSTUNREACH
	eaddrinuse    = syscall.EADDRINUSE
	eaddrnotavail = syscall.EADDRNOTAVAIL
	emsgsize      = syscall.EMSGSIZE
	econnreset    = syscall.ECONNRESET
	econnrefused  = syscall.ECONNREFUSED
	epipe         = syscall.EPIPE
	edestaddrreq  = syscall.EDESTADDRREQ
	enobufs       = syscall.ENOBUFS
)
