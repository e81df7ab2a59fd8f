// Package host is what the measurements need of a host, whichever stack it has.
package host

import (
	"context"
	"net"
	"net/netip"
)

// A Host has sockets of TCP over IPv4.
type Host struct {
	Addr   netip.Addr
	Listen func(port uint16) (net.Listener, error)
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// Conn returns what a dial has returned as a net.Conn, which is nil after an error.
func Conn[C net.Conn](c C, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Listener is Conn for listeners.
func Listener[L net.Listener](l L, err error) (net.Listener, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// The addresses of the two hosts of a pair.
var (
	Near = netip.AddrFrom4([4]byte{10, 0, 0, 1})
	Far  = netip.AddrFrom4([4]byte{10, 0, 0, 2})
)

// Bits is the prefix length of their network.
const Bits = 24

// MTU is that of the link between them, in bytes.
const MTU = 1500
