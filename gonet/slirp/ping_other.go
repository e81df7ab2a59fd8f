//go:build !linux

package slirp

import (
	"context"
	"net/netip"
)

// Ping implements Host. Only Linux has unprivileged ICMP sockets that need no more than a program.
func (Kernel) Ping(context.Context, netip.Addr, uint16, []byte) error { return ErrNoPing }
