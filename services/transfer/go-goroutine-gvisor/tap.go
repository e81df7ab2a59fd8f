package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// A tap is netstack's link to a tap device of Linux. The device hands over and takes TCP segments
// of up to 64 KiB with their checksums left out (IFF_VNET_HDR); netstack's own fdbased link does
// so on packet sockets only. Frames go up in the goroutine that read them, and down in the
// goroutine that has them.
type tap struct {
	file       *os.File
	raw        syscall.RawConn
	address    tcpip.LinkAddress
	mtu        uint32
	dispatcher atomic.Pointer[stack.NetworkDispatcher]
	reader     sync.WaitGroup
}

var (
	_ stack.LinkEndpoint = (*tap)(nil)
	_ stack.GSOEndpoint  = (*tap)(nil)
)

// openTap attaches to a device that exists.
func openTap(name string) (*tap, error) {
	known, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	device, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	device.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		return nil, fmt.Errorf("%s: attaching: %w", name, err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD,
		unix.TUN_F_CSUM|unix.TUN_F_TSO4); err != nil {
		return nil, fmt.Errorf("%s: offloads: %w", name, err)
	}
	t := &tap{
		file:    os.NewFile(uintptr(fd), name), // not blocking: reads wait in the runtime's poller
		address: "\x02\x00\x00\x00\x00\x02",    // locally administered
		mtu:     uint32(known.MTU),
	}
	t.raw, err = t.file.SyscallConn()
	return t, err
}

// virtio is the header before each frame: flags, kind, length of headers, size of segments, start
// and place of the checksum (struct virtio_net_hdr, linux/virtio_net.h).
type virtio [10]byte

// The flags and kinds of virtio.
const (
	needsChecksum = 1
	tcpv4         = 1
)

// sizes of the pieces, in bytes, that a frame is read into: a plain one takes a piece, the largest
// all of them, and those that it does not take wait for the next.
var sizes = [4]int{2048, 16384, 32768, 32768}

// A frame is about to be read.
type frame struct {
	header virtio
	views  [len(sizes)]*buffer.View
	vector [1 + len(sizes)]unix.Iovec
}

// fill gives the frame the pieces that it lacks.
func (f *frame) fill() {
	f.vector[0].Base = &f.header[0]
	f.vector[0].SetLen(len(f.header))
	for i, size := range sizes {
		if f.views[i] == nil {
			f.views[i] = buffer.NewViewSize(size)
			f.vector[1+i].Base = f.views[i].BasePtr()
			f.vector[1+i].SetLen(size)
		}
	}
}

// take makes a packet of the first n bytes, which it owns.
func (f *frame) take(n int) *stack.PacketBuffer {
	var data buffer.Buffer
	for i := 0; n > 0 && i < len(sizes); i++ {
		if n < sizes[i] {
			f.views[i].CapLength(n)
		}
		n -= sizes[i]
		_ = data.Append(f.views[i]) // a buffer of its own views is never too long
		f.views[i] = nil
	}
	return stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: data})
}

// read is a goroutine that hands up every frame until the device is closed.
func (t *tap) read() {
	var f frame
	for {
		f.fill()
		var n uintptr
		var failed syscall.Errno
		err := t.raw.Read(func(fd uintptr) bool {
			n, _, failed = unix.RawSyscall(unix.SYS_READV, fd,
				uintptr(unsafe.Pointer(&f.vector[0])), uintptr(len(f.vector)))
			return failed != unix.EAGAIN
		})
		switch {
		case err != nil:
			return
		case failed == unix.EINTR:
			continue
		case failed != 0:
			fmt.Fprintf(os.Stderr, "%s: reading: %v\n", t.file.Name(), failed)
			return
		case int(n) < len(f.header)+header.EthernetMinimumSize:
			continue
		}
		packet := f.take(int(n) - len(f.header))
		if up := t.dispatcher.Load(); up != nil && t.ParseHeader(packet) {
			(*up).DeliverNetworkPacket(packet.NetworkProtocolNumber, packet)
		}
		packet.DecRef()
	}
}

// WritePackets writes each packet by one call, and says how many of them the device took.
func (t *tap) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	for i, packet := range packets.AsSlice() {
		if err := t.write(packet); err != nil {
			return i, err
		}
	}
	return packets.Len(), nil
}

func (t *tap) write(packet *stack.PacketBuffer) tcpip.Error {
	var head virtio
	if gso := packet.GSOOptions; gso.Type != stack.GSONone {
		native := binary.NativeEndian
		native.PutUint16(head[2:], uint16(packet.HeaderSize()))
		if gso.NeedsCsum {
			head[0] = needsChecksum
			native.PutUint16(head[6:], header.EthernetMinimumSize+gso.L3HdrLen)
			native.PutUint16(head[8:], gso.CsumOffset)
		}
		if packet.Data().Size() > int(gso.MSS) {
			head[1] = tcpv4
			native.PutUint16(head[4:], gso.MSS)
		}
	}
	pieces := packet.AsSlices()
	vector := make([]unix.Iovec, 1, 16) // more than most have: it stays on the stack
	vector[0].Base = &head[0]
	vector[0].SetLen(len(head))
	for _, p := range pieces {
		if len(p) > 0 {
			vector = append(vector, unix.Iovec{Base: &p[0]})
			vector[len(vector)-1].SetLen(len(p))
		}
	}
	var failed syscall.Errno
	err := t.raw.Control(func(fd uintptr) {
		failed = unix.EINTR
		for failed == unix.EINTR {
			_, _, failed = unix.RawSyscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vector[0])),
				uintptr(len(vector)))
		}
	})
	if err != nil {
		return &tcpip.ErrClosedForSend{}
	}
	if failed != 0 {
		return tcpip.TranslateErrno(failed)
	}
	return nil
}

// Attach begins to read when the stack is there.
func (t *tap) Attach(up stack.NetworkDispatcher) {
	if up == nil {
		t.dispatcher.Store(nil)
		return
	}
	if t.dispatcher.Swap(&up) == nil {
		t.reader.Go(t.read)
	}
}

// Close ends the reader; the kernel keeps the device, which was made to stay.
func (t *tap) Close() {
	if err := t.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (t *tap) AddHeader(packet *stack.PacketBuffer) {
	header.Ethernet(packet.LinkHeader().Push(header.EthernetMinimumSize)).Encode(
		&header.EthernetFields{
			SrcAddr: packet.EgressRoute.LocalLinkAddress,
			DstAddr: packet.EgressRoute.RemoteLinkAddress,
			Type:    packet.NetworkProtocolNumber,
		})
}

func (t *tap) ParseHeader(packet *stack.PacketBuffer) bool {
	b, whole := packet.LinkHeader().Consume(header.EthernetMinimumSize)
	if whole {
		packet.NetworkProtocolNumber = header.Ethernet(b).Type()
	}
	return whole
}

// Capabilities say that checksums need no check: frames come from this machine's kernel, or were
// checked by it.
func (t *tap) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityResolutionRequired | stack.CapabilityRXChecksumOffload
}

func (t *tap) SupportedGSO() stack.SupportedGSO { return stack.HostGSOSupported }

// GSOMaxSize is in bytes: the most that an IPv4 packet can hold.
func (t *tap) GSOMaxSize() uint32 { return 65535 }

func (t *tap) MTU() uint32                              { return t.mtu }
func (t *tap) SetMTU(mtu uint32)                        { t.mtu = mtu }
func (t *tap) MaxHeaderLength() uint16                  { return header.EthernetMinimumSize }
func (t *tap) LinkAddress() tcpip.LinkAddress           { return t.address }
func (t *tap) SetLinkAddress(address tcpip.LinkAddress) { t.address = address }
func (t *tap) IsAttached() bool                         { return t.dispatcher.Load() != nil }
func (t *tap) Wait()                                    { t.reader.Wait() }
func (t *tap) ARPHardwareType() header.ARPHardwareType  { return header.ARPHardwareEther }
func (t *tap) SetOnCloseAction(func())                  {}
