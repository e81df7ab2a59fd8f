// Package demux has the keys and tables by which a stack finds what a packet is for: a connection
// by its flow, a listener or a socket by the address and port that it is bound to. It chooses the
// ephemeral ports, too. Its tables have no lock: their owner is one goroutine.
package demux

import (
	"net/netip"

	"interleave/gonet/internal/random"
)

// Flow identifies a connection: both addresses and both ports. IPv4 addresses are in their
// IPv4-mapped form.
type Flow struct {
	Local, Remote         [16]byte
	LocalPort, RemotePort uint16
}

// FlowOf returns the flow between two ends.
func FlowOf(local, remote netip.AddrPort) Flow {
	return Flow{local.Addr().As16(), remote.Addr().As16(), local.Port(), remote.Port()}
}

// Ends returns both ends of a flow.
func (f *Flow) Ends() (local, remote netip.AddrPort) { return f.LocalEnd(), f.RemoteEnd() }

// LocalEnd returns the local address and port.
func (f *Flow) LocalEnd() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(f.Local).Unmap(), f.LocalPort)
}

// RemoteEnd returns the remote address and port.
func (f *Flow) RemoteEnd() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(f.Remote).Unmap(), f.RemotePort)
}

// SetLocal sets the local address and port.
func (f *Flow) SetLocal(local netip.AddrPort) {
	f.Local, f.LocalPort = local.Addr().As16(), local.Port()
}

// Is4 tells whether the flow is one of IPv4.
func (f *Flow) Is4() bool { return netip.AddrFrom16(f.Remote).Is4In6() }

// Reversed returns the flow as its other end has it.
func (f *Flow) Reversed() Flow { return Flow{f.Remote, f.Local, f.RemotePort, f.LocalPort} }

// Hash returns a number that nobody outside the stack can predict, for a purpose.
func (f *Flow) Hash(r *random.Source, purpose random.Purpose, more uint64) uint64 {
	return r.Hash(&f.Local, &f.Remote, uint32(f.LocalPort)<<16|uint32(f.RemotePort), purpose, more)
}
