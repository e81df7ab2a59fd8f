//go:build !unix

package slirp

import "syscall"

// refuseBroadcast does nothing: a guest reaches the broadcast addresses of the host's networks.
func refuseBroadcast(syscall.RawConn) error { return nil }
