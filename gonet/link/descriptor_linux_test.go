package link

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"interleave/gonet/wire"
)

// TestDescriptorsOfSockets makes links of both ends of pairs of sockets, as QEMU and a launcher
// share them.
func TestDescriptorsOfSockets(t *testing.T) {
	for name, kind := range map[string]int{"stream": unix.SOCK_STREAM, "dgram": unix.SOCK_DGRAM,
		"seqpacket": unix.SOCK_SEQPACKET} {
		t.Run(name, func(t *testing.T) {
			contract(t, func() (Link, Link) {
				pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				var ends [2]Link
				for i, fd := range pair {
					if ends[i], err = NewDescriptor(fd, ethernet); err != nil {
						t.Fatal(err)
					}
				}
				return ends[0], ends[1]
			})
		})
	}
}

// TestAnEmptyDatagram holds that a datagram of no bytes, which is no frame, does not end a link.
func TestAnEmptyDatagram(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewDescriptor(pair[0], ethernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []string{"one", "", "two"} {
		if _, err := unix.Write(pair[1], []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(readFrames(t, l, 2), " "); got != "one two" {
		t.Errorf("got %q", got)
	}
	if err := errors.Join(l.Close(), unix.Close(pair[1])); err != nil {
		t.Error(err)
	}
}

// deviceFD opens a tap or tun, and returns its descriptor and name.
func deviceFD(t *testing.T, flags uint16) (int, string) {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("SKIP: %v", err)
	}
	req, err := unix.NewIfreq("gn%d")
	if err != nil {
		t.Fatal(err)
	}
	req.SetUint16(flags)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		t.Fatal(err)
	}
	return fd, req.Name()
}

// TestDescriptorsOfDevices makes links of taps and tuns that were opened with and without
// offloads.
func TestDescriptorsOfDevices(t *testing.T) {
	inNamespace(t)
	for _, c := range []struct {
		flags uint16
		want  Features // without what depends on the kernel
	}{
		{unix.IFF_TAP | unix.IFF_VNET_HDR, Features{MTU: 1400, Partial: true}},
		{unix.IFF_TUN | unix.IFF_VNET_HDR, Features{MTU: 1400, Partial: true, L3: true}},
		{unix.IFF_TAP, Features{MTU: 1400}},
		{unix.IFF_TUN, Features{MTU: 1400, L3: true}},
	} {
		fd, name := deviceFD(t, c.flags|unix.IFF_NO_PI)
		ip(t, "link", "set", name, "mtu", "1400")
		l, err := NewDescriptor(fd, Features{TCPv4: true, Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		f := l.Features()
		if f.MTU != c.want.MTU || f.Partial != c.want.Partial || f.L3 != c.want.L3 {
			t.Errorf("%s with the flags %x: %+v", name, c.flags, f)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	fd, name := deviceFD(t, unix.IFF_TUN|unix.IFF_NO_PI)
	ip(t, "addr", "add", "10.9.0.1/24", "dev", name)
	ip(t, "link", "set", name, "up")
	l, err := NewDescriptor(fd, Features{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nothing is left to be written
	echo := make([]byte, wire.IPv4Len+wire.ICMPLen)
	h := wire.IPv4{Length: uint16(len(echo)), TTL: 64, Protocol: wire.ProtocolICMP,
		Src: addr("10.9.0.2"), Dst: addr("10.9.0.1")}
	m := wire.ICMP{Type: wire.ICMPEcho}
	m.Put(echo[h.Put(echo):])
	wire.SealICMP(echo[wire.IPv4Len:], 0)
	if err := l.Write(GSO{}, echo); err != nil {
		t.Fatal(err)
	}
	for replied := false; !replied; { // the kernel looks for routers, too
		for _, packet := range readFrames(t, l, 1) {
			h, body, err := wire.ParseIPv4([]byte(packet))
			replied = replied || err == nil && h.Src == addr("10.9.0.1") && len(body) > 0 &&
				body[0] == wire.ICMPEchoReply
		}
	}
}

// TestDescriptorsOfOthers holds that what is no link is refused, and stays the caller's.
func TestDescriptorsOfOthers(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewDescriptor(int(r.Fd()), ethernet); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("a pipe: %v", err)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		t.Errorf("the caller's descriptors: %v", err)
	}
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM} {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewDescriptor(fd, ethernet); !errors.Is(err, unix.ENOTCONN) {
			t.Errorf("a socket of kind %d without a peer: %v", kind, err)
		}
		if err := unix.Close(fd); err != nil {
			t.Errorf("the caller's descriptor: %v", err)
		}
	}
	if _, err := NewDescriptor(-1, ethernet); !errors.Is(err, unix.EBADF) {
		t.Errorf("no descriptor: %v", err)
	}
}
