package link

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/wire"
)

// kernelTun makes a tun whose kernel's end is 10.9.0.1.
func kernelTun(t *testing.T) *Tap {
	t.Helper()
	tun, err := OpenTun("gn%d")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			t.Skipf("SKIP: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tun.Close() }) // some tests have closed it
	ip(t, "addr", "add", "10.9.0.1/24", "dev", tun.Name())
	ip(t, "link", "set", tun.Name(), "up")
	return tun
}

// readPacket reads packets until one is of a protocol, as the kernel sends router solicitations,
// too.
func readPacket(t *testing.T, tun *Tap, protocol wire.Protocol) (wire.IPv4, []byte, GSO) {
	t.Helper()
	batch := make([]Frame, 8)
	stop := time.AfterFunc(testTimeout, tun.Interrupt)
	defer stop.Stop()
	for {
		n, err := tun.Read(batch)
		if err != nil || n == 0 {
			t.Fatalf("%d packets, %v", n, err)
		}
		for _, f := range batch[:n] {
			if len(f.Data) == 0 || f.Data[0]>>4 != 4 {
				continue
			}
			Complete(f.GSO, f.Data)
			h, body, err := wire.ParseIPv4(f.Data)
			if err != nil {
				t.Fatalf("% x: %v", f.Data, err)
			}
			if h.Protocol == protocol {
				if wire.Sum(body, wire.PseudoSum(h.Src, h.Dst, h.Protocol, len(body))) != 0xffff {
					t.Fatal("wrong checksum")
				}
				return h, body, f.GSO
			}
		}
	}
}

func TestTunCarriesBothWays(t *testing.T) {
	inNamespace(t)
	tun := kernelTun(t)
	if f := tun.Features(); f.MTU != 1500 || !f.Partial || !f.L3 || tun.Kind() != "tun" {
		t.Errorf("%+v", f)
	}
	carriesBothWays(t, tun)
}

// carriesBothWays has a socket of the kernel send a datagram to a tun, and receive one from it.
func carriesBothWays(t *testing.T, tun *Tap) {
	t.Helper()
	c, err := net.ListenPacket("udp4", "10.9.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ours := netip.MustParseAddrPort("10.9.0.2:77")
	if _, err := c.WriteTo([]byte("out of the kernel"),
		net.UDPAddrFromAddrPort(ours)); err != nil {
		t.Fatal(err)
	}
	h, body, gso := readPacket(t, tun, wire.ProtocolUDP)
	u, payload, err := wire.ParseUDP(body)
	if err != nil || string(payload) != "out of the kernel" || h.Dst != ours.Addr() || !gso.Valid ||
		gso.Partial && int(gso.Start) != h.Len() {
		t.Errorf("%+v %q %+v, %v", h, payload, gso, err)
	}
	back, out := udpFrame("into the kernel")
	packet := back[wire.EthernetLen:]
	out.Start -= wire.EthernetLen
	answer := wire.IPv4{Length: uint16(len(packet)), TTL: 64, Protocol: wire.ProtocolUDP,
		Src: h.Dst, Dst: h.Src}
	answer.Put(packet)
	length := len(packet) - wire.IPv4Len
	reply := wire.UDP{SrcPort: u.DstPort, DstPort: u.SrcPort, Length: uint16(length),
		Checksum: wire.PseudoSum(h.Dst, h.Src, wire.ProtocolUDP, length)}
	reply.Put(packet[wire.IPv4Len:])
	if err := tun.Write(out, nil, packet[:20], packet[20:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if err := c.SetReadDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	if n, from, err := c.ReadFrom(b); err != nil || string(b[:n]) != "into the kernel" {
		t.Errorf("%q from %v, %v", b[:n], from, err)
	}
}

func TestTunErrorsNameTheDevice(t *testing.T) {
	inNamespace(t)
	tun := kernelTun(t)
	if _, err := OpenTun(tun.Name()); !errors.Is(err, unix.EBUSY) ||
		!bytes.HasPrefix([]byte(err.Error()), []byte("tun "+tun.Name())) {
		t.Errorf("a device that is in use: %v", err)
	}
	ip(t, "tuntap", "add", "dev", "other", "mode", "tap")
	if _, err := OpenTun("other"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a tap as a tun: %v", err)
	}
}

// TestTunHandedIn makes links of descriptors that another has opened.
func TestTunHandedIn(t *testing.T) {
	inNamespace(t)
	descriptor := func(flags uint16) int {
		fd, _ := deviceFD(t, flags)
		return fd
	}
	fd := descriptor(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	// another length of the header, as some hypervisors use it
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, 12); err != nil {
		t.Fatal(err)
	}
	tun, err := NewTap(fd, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tun.Close() }() // nothing is left to be written
	ip(t, "addr", "add", "10.9.0.1/24", "dev", tun.Name())
	ip(t, "link", "set", tun.Name(), "up")
	if f := tun.Features(); f.MTU != 1500 || !f.L3 {
		t.Errorf("%+v", f)
	}
	carriesBothWays(t, tun)

	fd = descriptor(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	tap, err := NewTap(fd, 9000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tap.Close() }() // nothing is left to be written
	if f := tap.Features(); f.MTU != 9000 || f.L3 || tap.Kind() != "tap" {
		t.Errorf("%+v", f)
	}

	fd = descriptor(unix.IFF_TUN | unix.IFF_NO_PI)
	if _, err := NewTap(fd, 0); err == nil {
		t.Error("a descriptor without the header was taken")
	}
	if err := unix.Close(fd); err != nil {
		t.Errorf("the caller's descriptor: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(r.Close(), w.Close()) }() // nothing was written
	if _, err := NewTap(int(r.Fd()), 0); err == nil {
		t.Error("a pipe was taken")
	}
}
