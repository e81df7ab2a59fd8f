package link

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/wire"
)

// TestVirtioOfUDP holds the header of a super-frame of UDP, byte by byte. It is in the order of
// this machine.
func TestVirtioOfUDP(t *testing.T) {
	g, packet := superDatagram(4, 3000, 1200)
	var header [virtioLen]byte
	putVirtio(&header, g)
	if header[0] != virtioNeedsChecksum || header[1] != virtioUDP {
		t.Errorf("the header is % x", header)
	}
	f, err := parseVirtio(append(header[:], packet...))
	if g.Valid = true; err != nil || f.GSO != g || len(f.Data) != len(packet) {
		t.Errorf("%+v in %d bytes, %v, want %+v", f.GSO, len(f.Data), err, g)
	}
	header[2], header[3] = 0xff, 0xff // the kernel's hint is longer than the headers
	if f, err = parseVirtio(append(header[:], packet...)); err != nil || f.GSO != g {
		t.Errorf("%+v, %v, want %+v", f.GSO, err, g)
	}
}

// FuzzVirtio parses what a device may hand over, and cuts and completes it as a reader may do. The
// header of a frame is written as it was read.
func FuzzVirtio(f *testing.F) {
	for _, kind := range []Kind{TCPv4, TCPv6} {
		g, b := superFrame(kind, 3000, 1000)
		var header [virtioLen]byte
		putVirtio(&header, g)
		f.Add(append(header[:], b...))
	}
	g, b := superDatagram(6, 3000, 1200)
	var header [virtioLen]byte
	putVirtio(&header, g)
	f.Add(append(header[:], b...))
	f.Add(header[:5])
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := parseVirtio(b)
		if err != nil {
			if len(b) >= virtioLen {
				t.Errorf("%d bytes: %v", len(b), err)
			}
			return
		}
		if len(frame.Data) != len(b)-virtioLen {
			t.Errorf("a frame of %d bytes in %d", len(frame.Data), len(b))
		}
		sum := 0
		err = Cut(frame.GSO, frame.Data, func(piece []byte) error {
			sum += len(piece) - int(frame.GSO.Header)
			return nil
		})
		if err == nil && sum != len(frame.Data)-int(frame.GSO.Header) {
			t.Errorf("%d bytes in the pieces of %d", sum, len(frame.Data))
		}
		Complete(frame.GSO, frame.Data)
		if !frame.GSO.Partial || frame.GSO.Kind == Plain {
			return
		}
		var header [virtioLen]byte
		putVirtio(&header, frame.GSO)
		if again, err := parseVirtio(header[:]); err != nil || again.GSO != frame.GSO {
			t.Errorf("%+v is read as %+v, %v", frame.GSO, again.GSO, err)
		}
	})
}

// setTapOffloads changes what the kernel may leave to the reader of a device.
func setTapOffloads(t *testing.T, tap *Tap, offloads int) {
	t.Helper()
	var failed error
	err := tap.raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetInt(int(fd), unix.TUNSETOFFLOAD, offloads)
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
}

// TestSuperFramesOfUDP has the kernel send five datagrams at once into a tun, which takes them in
// one frame, or with fewer offloads in five.
func TestSuperFramesOfUDP(t *testing.T) {
	inNamespace(t)
	tun := kernelTun(t)
	if !tun.Features().UDP {
		t.Skip("SKIP: super-frames of UDP need Linux 6.2")
	}
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(10, 9, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // the packets were read
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, 1000)
	})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	for _, super := range []bool{true, false} {
		if !super {
			setTapOffloads(t, tun, tunChecksum|tunTSO4|tunTSO6)
		}
		if _, err := c.WriteToUDP(make([]byte, 4100),
			&net.UDPAddr{IP: net.IPv4(10, 9, 0, 2), Port: 7}); err != nil {
			t.Fatal(err)
		}
		frames, lengths := readDatagrams(t, tun)
		if want := map[bool]int{true: 1, false: 5}[super]; frames != want ||
			lengths != [5]int{1000, 1000, 1000, 1000, 100} {
			t.Errorf("datagrams of %v bytes in %d frames, want %d", lengths, frames, want)
		}
	}
}

// readDatagrams reads five datagrams from a tun, in plain frames and super-frames, and returns in
// how many frames they came, and their lengths. All checksums must be right.
func readDatagrams(t *testing.T, tun *Tap) (frames int, lengths [5]int) {
	t.Helper()
	batch := make([]Frame, 8)
	stop := time.AfterFunc(testTimeout, tun.Interrupt)
	defer stop.Stop()
	for got := 0; got < len(lengths); {
		read, err := tun.Read(batch)
		if err != nil || read == 0 {
			t.Fatalf("%d frames, %v", read, err)
		}
		for _, f := range batch[:read] {
			if f.Data[0]>>4 != 4 {
				continue // the kernel looks for routers, too
			}
			frames++
			datagram := func(packet []byte) error {
				h, body, err := wire.ParseIPv4(packet)
				if err != nil || h.Protocol != wire.ProtocolUDP ||
					wire.Sum(body, wire.PseudoSum(h.Src, h.Dst, h.Protocol, len(body))) != 0xffff {
					t.Fatalf("%+v, %v", h, err)
				}
				lengths[got] = len(body) - wire.UDPLen
				got++
				return nil
			}
			if f.GSO.Kind == Plain {
				Complete(f.GSO, f.Data)
				err = datagram(f.Data)
			} else {
				err = CutL3(f.GSO, f.Data, datagram)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return frames, lengths
}
