//go:build !plan9

package slirp

import (
	"errors"
	"syscall"

	"interleave/gonet"
)

// reason returns how an error of the host is told to the guest: whether the other end has refused,
// or else why it cannot be reached.
func reason(err error) (why gonet.Unreachable, refused bool) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return gonet.UnreachablePort, true
	case errors.Is(err, syscall.ENETUNREACH):
		return gonet.UnreachableNet, false
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return gonet.UnreachableProhibited, false
	}
	return gonet.UnreachableHost, false
}
