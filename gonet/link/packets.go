package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
)

// NewPackets makes a link over something that keeps the boundaries of frames, so that each Read and
// Write is one: a connected datagram socket, as that of QEMU's -netdev dgram with a descriptor, or
// the descriptor of a tun or tap that was opened elsewhere and without IFF_VNET_HDR (os.NewFile).
// Offloads among the features are ignored. A frame that cannot be written is lost and counted, as
// on a wire, and so is one that is longer than the MTU allows. An error in reading ends the link.
func NewPackets(rw io.ReadWriteCloser, features Features) *Funcs {
	write := func(b []byte) error {
		_, err := rw.Write(b)
		return err
	}
	return newPackets(features, rw.Read, write, rw.Close)
}

// NewDatagrams makes a link over a datagram socket that is not connected, for frames to and from
// one peer: the other end of QEMU's -netdev dgram, whose remote address is that of conn, and whose
// local address is peer. The peer need not be there yet, and may end and come back at the same
// address: frames to a peer that is not there are lost. Frames from other addresses are dropped and
// counted.
//
// With a multicast group as the peer, all that is received is taken. QEMU's machines that have the
// same group are then stations of one Ethernet with this link. conn must have joined the group
// (net.ListenMulticastUDP), and receives its own frames, too, which a stack drops.
//
// For all else it is NewPackets.
func NewDatagrams(conn net.PacketConn, peer net.Addr, features Features) *Funcs {
	u, _ := peer.(*net.UDPAddr)
	all := u != nil && u.IP.IsMulticast()
	read := func(b []byte) (int, error) {
		n, from, err := conn.ReadFrom(b)
		if err == nil && !all && !isSameAddr(from, peer) {
			return 0, errNoFrame
		}
		return n, err
	}
	write := func(b []byte) error {
		_, err := conn.WriteTo(b, peer)
		return err
	}
	return newPackets(features, read, write, conn.Close)
}

// isSameAddr tells whether two addresses of sockets are one. An IPv4 address may have the form of
// IPv6.
func isSameAddr(a, b net.Addr) bool {
	if a == nil || b == nil { // a Unix socket without a name has no address
		return false
	}
	x, isUDP := a.(*net.UDPAddr)
	y, alsoUDP := b.(*net.UDPAddr)
	if isUDP && alsoUDP {
		return unmapped(x) == unmapped(y)
	}
	return a.Network() == b.Network() && a.String() == b.String()
}

func unmapped(a *net.UDPAddr) netip.AddrPort {
	p := a.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// newPackets makes a link over functions for one datagram each.
func newPackets(features Features, read func([]byte) (int, error), write func([]byte) error,
	shut func() error) *Funcs {
	features = features.plain()
	longest := features.longest()
	readOne := func(b []byte) (int, GSO, error) {
		n, err := read(b)
		for errors.Is(err, errRefused) { // a datagram of ours found no socket, at that time
			n, err = read(b)
		}
		switch {
		case errors.Is(err, errTruncated), errors.Is(err, errNoFrame), err == nil && n > longest:
			return 0, GSO{}, errNoFrame
		case err != nil:
			return 0, GSO{}, fmt.Errorf("packets: %w", err)
		}
		return n, GSO{}, nil
	}
	var f *Funcs
	writeAll := func(frames []Frame) error {
		for _, x := range frames {
			if write(x.Data) != nil {
				f.out.dropped.Add(1)
			}
		}
		return nil
	}
	// The room has a byte more than the longest frame, which shows that a datagram was cut.
	f = newFuncs(features, longest+1, readOne, writeAll, shut)
	return f
}
