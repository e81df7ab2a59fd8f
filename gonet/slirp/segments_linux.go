package slirp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// The level of options of UDP, and those for many datagrams by one call (linux/udp.h, udp(7)).
// Linux has the first since 4.18, the second since 5.0.
const (
	solUDP     = syscall.IPPROTO_UDP
	udpSegment = 103
	udpGRO     = 104
)

// segmentSocket is a socket of Linux. It merges datagrams that it receives (UDP_GRO) from its first
// call of ReadSegments on; Read would show them as one. One goroutine may write, and one read.
type segmentSocket struct {
	flowConn
	raw     syscall.RawConn
	single  bool // the kernel does not take many datagrams for this destination
	merging bool // UDP_GRO was set
}

// segmented returns a socket that sends and receives many datagrams by one call, or the same one if
// the kernel cannot.
func segmented(c net.Conn) net.Conn {
	u, ok := c.(flowConn)
	if !ok {
		return c
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return c
	}
	// An older kernel would ignore the message that says how to cut, and send all as one datagram.
	if control(raw, func(fd int) (err error) {
		_, err = syscall.GetsockoptInt(fd, solUDP, udpSegment)
		return err
	}) != nil {
		return c
	}
	return &segmentSocket{flowConn: u, raw: raw}
}

// control runs f with the descriptor of a socket.
func control(raw syscall.RawConn, f func(fd int) error) error {
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// superBuffers has memory for what one call sends or receives.
var superBuffers = sync.Pool{New: func() any { return new([maxDatagram]byte) }}

// WriteSegments implements SegmentConn.
func (c *segmentSocket) WriteSegments(datagrams [][]byte) error {
	return c.sendAll(datagrams, func(b, control []byte) error {
		_, _, err := c.WriteMsgUDPAddrPort(b, control, netip.AddrPort{})
		return err
	})
}

// SendSegments implements PromptConn.
func (c *segmentSocket) SendSegments(datagrams [][]byte) error {
	return c.sendAll(datagrams, c.sendNow)
}

// sendAll sends datagrams. send sends one, or many that a control message divides. Where the kernel
// does not send several at once, as when each is longer than the MTU, they are sent one by one.
func (c *segmentSocket) sendAll(datagrams [][]byte, send func(b, control []byte) error) error {
	if len(datagrams) > 1 && !c.single {
		b := superBuffers.Get().(*[maxDatagram]byte)
		defer superBuffers.Put(b)
		n := 0
		for _, d := range datagrams {
			n += copy(b[n:], d)
		}
		err := send(b[:n], segmentControl(len(datagrams[0])))
		// EIO: the device has no checksums, which older kernels need for that.
		if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EIO) {
			return err
		}
		c.single = true
	}
	for _, d := range datagrams {
		if err := send(d, nil); err != nil {
			return err
		}
	}
	return nil
}

// sendNow sends a datagram, or many that a control message divides, unless there is no room.
func (c *segmentSocket) sendNow(b, oob []byte) error {
	err := control(c.raw, func(fd int) error {
		_, err := syscall.SendmsgN(fd, b, oob, nil, syscall.MSG_DONTWAIT)
		return os.NewSyscallError("sendmsg", err)
	})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOBUFS) {
		return nil
	}
	return err
}

// segmentControl returns the control message that has the kernel cut what is sent into datagrams.
func segmentControl(size int) []byte {
	b := make([]byte, syscall.CmsgSpace(2))
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = solUDP, udpSegment
	h.SetLen(syscall.CmsgLen(2))
	binary.NativeEndian.PutUint16(b[syscall.CmsgLen(0):], uint16(size))
	return b
}

// ReadSegments implements SegmentConn.
func (c *segmentSocket) ReadSegments(take func(b []byte, size int) error) error {
	if !c.merging {
		c.merging = true
		_ = control(c.raw, func(fd int) error { // else each datagram is read by a call of its own
			return syscall.SetsockoptInt(fd, solUDP, udpGRO, 1)
		})
	}
	var failed error
	err := c.raw.Read(func(fd uintptr) bool {
		b := superBuffers.Get().(*[maxDatagram]byte)
		defer superBuffers.Put(b)
		n, size, err := receiveSegments(int(fd), c.peer, b[:])
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return false // the poller waits, and this function is called again
		case err != nil:
			failed = os.NewSyscallError("recvmsg", err)
		default:
			failed = take(b[:n], size)
		}
		return true
	})
	return cmp.Or(err, failed)
}

// receiveSegments receives what waits at a socket of a peer, and returns the size of its datagrams
// if there are several.
func receiveSegments(fd int, of netip.AddrPort, b []byte) (n, size int, err error) {
	var control [64]byte
	for {
		n, length, _, from, err := syscall.Recvmsg(fd, b, control[:], syscall.MSG_DONTWAIT)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, 0, err
		case endpoint(from) == of: // else it came before the socket was connected
			return n, segmentSize(control[:length]), nil
		}
	}
}

// endpoint returns the address of a socket of IP, or an invalid one. Peers of flows have no zones.
func endpoint(a syscall.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *syscall.SockaddrInet6:
		return unmapped(netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)))
	}
	return netip.AddrPort{}
}

// segmentSize returns the size of the datagrams that the kernel has merged, as a control message
// says, and 0 without such a message.
func segmentSize(control []byte) int {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == solUDP && m.Header.Type == udpGRO && len(m.Data) >= 4 {
			return int(int32(binary.NativeEndian.Uint32(m.Data)))
		}
	}
	return 0
}
