package slirp

import "interleave/gonet"

// reason returns how an error of the host is told to the guest. Plan 9 has texts for errors, and no
// numbers.
func reason(error) (why gonet.Unreachable, refused bool) { return gonet.UnreachableHost, false }
