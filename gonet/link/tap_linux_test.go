package link

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/gonet/wire"
)

// testTimeout bounds what must happen at all; nothing is expected to be fast.
const testTimeout = 5 * time.Minute

// inNamespace moves the test to a network namespace of its own, which ends with its thread.
func inNamespace(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: a network namespace needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP: install iproute2 for the ip command")
	}
	// never unlocked: the thread is of no use to others, and ends with the test's goroutine
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("SKIP: no network namespace to be had: %v", err)
	}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// kernelTap makes a tap whose kernel's end is 10.9.0.1 and knows 10.9.0.2 as 02:00:00:00:00:02.
func kernelTap(t *testing.T) *Tap {
	t.Helper()
	tap, err := OpenTap("gn%d")
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			t.Skipf("SKIP: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tap.Close() }) // some tests have closed it
	ip(t, "addr", "add", "10.9.0.1/24", "dev", tap.Name())
	ip(t, "link", "set", tap.Name(), "up", "address", "02:00:00:00:00:01")
	ip(t, "neigh", "add", "10.9.0.2", "lladdr", "02:00:00:00:00:02", "dev", tap.Name())
	return tap
}

// readUDP reads frames until one is a datagram to port, as the kernel sends neighbour discovery and
// MLD too.
func readUDP(t *testing.T, tap *Tap, port uint16) (wire.IPv4, []byte, GSO) {
	t.Helper()
	batch := make([]Frame, 8)
	stop := time.AfterFunc(testTimeout, tap.Interrupt)
	defer stop.Stop()
	for {
		n, err := tap.Read(batch)
		if err != nil || n == 0 {
			t.Fatalf("%d frames, %v", n, err)
		}
		for _, f := range batch[:n] {
			e, packet, err := wire.ParseEthernet(f.Data)
			if err != nil || e.Type != wire.EtherIPv4 {
				continue
			}
			Complete(f.GSO, f.Data)
			h, segment, err := wire.ParseIPv4(packet)
			if err != nil || h.Protocol != wire.ProtocolUDP {
				continue
			}
			if u, payload, err := wire.ParseUDP(segment); err == nil && u.DstPort == port {
				if wire.Sum(segment, wire.PseudoSum(h.Src, h.Dst, h.Protocol,
					len(segment))) != 0xffff {
					t.Fatal("wrong checksum")
				}
				return h, payload, f.GSO
			}
		}
	}
}

func TestTapCarriesBothWays(t *testing.T) {
	inNamespace(t)
	tap := kernelTap(t)
	if f := tap.Features(); f.MTU != 1500 || !f.Partial {
		t.Errorf("%+v", f)
	}
	c, err := net.ListenPacket("udp4", "10.9.0.1:5001")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.WriteTo([]byte("out of the kernel"),
		net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.9.0.2:77"))); err != nil {
		t.Fatal(err)
	}
	h, payload, gso := readUDP(t, tap, 77)
	if string(payload) != "out of the kernel" || h.Dst != addr("10.9.0.2") || !gso.Valid {
		t.Errorf("%+v %q %+v", h, payload, gso)
	}
	frame, out := udpFrame("into the kernel")
	copy(frame, "\x02\x00\x00\x00\x00\x01")
	// 10.9.0.2 to 10.9.0.1: the same shift twice,
	copy(frame[26:], "\x0a\x09\x00\x02\x0a\x09\x00\x01")
	h4, _, _ := wire.ParseIPv4Quote(frame[wire.EthernetLen:]) // so both checksums are made again
	h4.Put(frame[wire.EthernetLen:])
	u := wire.UDP{SrcPort: 77, DstPort: 5001, Length: 23, Checksum: wire.PseudoSum(h4.Src, h4.Dst,
		h4.Protocol, 23)}
	u.Put(frame[34:])
	if err := tap.Write(out, frame[:14], frame[14:40], nil, frame[40:]); err != nil {
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

func TestTapInterruptAndEnd(t *testing.T) {
	inNamespace(t)
	tap := kernelTap(t)
	tap.Interrupt()
	batch := make([]Frame, 4)
	drain := func() (int, error) {
		for {
			if n, err := tap.Read(batch); n == 0 {
				return n, err
			}
		}
	}
	if _, err := drain(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, tap.Interrupt)
	if _, err := drain(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { _ = tap.Close() }) // the read checks
	if _, err := drain(); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if err := tap.Write(GSO{}, make([]byte, 60)); !errors.Is(err, ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
}

func TestTapThatVanishes(t *testing.T) {
	inNamespace(t)
	tap := kernelTap(t)
	done := make(chan error, 1)
	go func() {
		for {
			if n, err := tap.Read(make([]Frame, 4)); err != nil || n == 0 {
				done <- err
				return
			}
		}
	}()
	ip(t, "link", "del", tap.Name())
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), tap.Name()) {
			t.Errorf("the read says %v", err)
		}
	case <-time.After(testTimeout):
		t.Error("the read does not end")
	}
	if err := tap.Write(GSO{}, bytes.Repeat([]byte{0}, 60)); err == nil {
		t.Error("a write succeeds")
	}
}

func TestTapErrorsNameTheDevice(t *testing.T) {
	inNamespace(t)
	tap := kernelTap(t)
	if _, err := OpenTap(tap.Name()); err == nil || !strings.Contains(err.Error(), tap.Name()) {
		t.Errorf("a device that is in use: %v", err)
	}
	if _, err := OpenTap("a-name-that-is-too-long"); err == nil {
		t.Error("a name of 23 bytes was taken")
	}
}
