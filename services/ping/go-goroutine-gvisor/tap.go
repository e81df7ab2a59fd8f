package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// A tap is netstack's link to a tap device of Linux. Frames go up in the goroutine that read them,
// and down in the goroutine that has them.
type tap struct {
	file       *os.File
	raw        syscall.RawConn
	address    tcpip.LinkAddress
	mtu        uint32
	dispatcher atomic.Pointer[stack.NetworkDispatcher]
	reader     sync.WaitGroup
}

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
	device.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		return nil, fmt.Errorf("%s: attaching: %w", name, err)
	}
	t := &tap{
		file:    os.NewFile(uintptr(fd), name), // not blocking: reads wait in the runtime's poller
		address: "\x02\x00\x00\x00\x00\x02",    // locally administered
		mtu:     uint32(known.MTU),
	}
	t.raw, err = t.file.SyscallConn()
	return t, err
}

// read is a goroutine that hands up every frame until the device is closed.
func (t *tap) read() {
	var frame *buffer.View
	for {
		if frame == nil {
			frame = buffer.NewViewSize(header.EthernetMinimumSize + int(t.mtu))
		}
		var n int
		var failed error
		err := t.raw.Read(func(fd uintptr) bool {
			n, failed = unix.Read(int(fd), frame.AsSlice())
			return !errors.Is(failed, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return
		case errors.Is(failed, unix.EINTR):
			continue
		case failed != nil:
			fmt.Fprintf(os.Stderr, "%s: reading: %v\n", t.file.Name(), failed)
			return
		}
		frame.CapLength(n)
		packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(
			frame)})
		frame = nil // the packet's
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
	vector := packet.AsSlices()
	var failed error
	err := t.raw.Control(func(fd uintptr) {
		failed = unix.EINTR
		for errors.Is(failed, unix.EINTR) {
			_, failed = unix.Writev(int(fd), vector)
		}
	})
	if err != nil {
		return &tcpip.ErrClosedForSend{}
	}
	if errno, ok := failed.(unix.Errno); ok {
		return tcpip.TranslateErrno(errno)
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

func (t *tap) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityResolutionRequired
}

func (t *tap) MTU() uint32                              { return t.mtu }
func (t *tap) SetMTU(mtu uint32)                        { t.mtu = mtu }
func (t *tap) MaxHeaderLength() uint16                  { return header.EthernetMinimumSize }
func (t *tap) LinkAddress() tcpip.LinkAddress           { return t.address }
func (t *tap) SetLinkAddress(address tcpip.LinkAddress) { t.address = address }
func (t *tap) IsAttached() bool                         { return t.dispatcher.Load() != nil }
func (t *tap) Wait()                                    { t.reader.Wait() }
func (t *tap) ARPHardwareType() header.ARPHardwareType  { return header.ARPHardwareEther }
func (t *tap) SetOnCloseAction(func())                  {}
