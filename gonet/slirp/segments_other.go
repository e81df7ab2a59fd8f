//go:build !linux

package slirp

import "net"

// segmented returns a socket as it is: only Linux sends and receives many datagrams by one call.
func segmented(c net.Conn) net.Conn { return c }
