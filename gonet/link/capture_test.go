package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"interleave/gonet/wire"
)

// udpFrame returns an IPv4 datagram whose checksum is left to the link.
func udpFrame(payload string) ([]byte, GSO) {
	b := make([]byte, wire.EthernetLen+wire.IPv4Len+wire.UDPLen+len(payload))
	e := wire.Ethernet{Dst: wire.Broadcast, Src: wire.MAC{2, 5: 1}, Type: wire.EtherIPv4}
	n := e.Put(b)
	src, dst := addr("10.0.0.1"), addr("10.0.0.2")
	length := wire.UDPLen + len(payload)
	ip := wire.IPv4{Length: uint16(wire.IPv4Len + length), TTL: 64, Protocol: wire.ProtocolUDP,
		Src: src, Dst: dst}
	start := n + ip.Put(b[n:])
	u := wire.UDP{SrcPort: 5000, DstPort: 5001, Length: uint16(length),
		Checksum: wire.PseudoSum(src, dst, wire.ProtocolUDP, length)}
	copy(b[start+u.Put(b[start:]):], payload)
	return b, GSO{Partial: true, Start: uint16(start), Offset: 6}
}

func TestCapture(t *testing.T) {
	var file bytes.Buffer
	a, b := Pair(Offload())
	defer closeBoth(t, a, b)
	c, err := NewCapture(a, "one end", &file)
	if err != nil {
		t.Fatal(err)
	}
	frame, gso := udpFrame("out")
	if err := c.Write(gso, frame[:20], frame[20:]); err != nil {
		t.Fatal(err)
	}
	frame, gso = udpFrame("hello")
	if err := b.Write(gso, frame); err != nil {
		t.Fatal(err)
	}
	batch := make([]Frame, 1)
	if _, err := c.Read(batch); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	kinds := blocks(t, file.Bytes())
	if len(kinds) != 4 || kinds[0] != blockSection || kinds[1] != blockInterface ||
		kinds[2] != blockPacket || kinds[3] != blockPacket {
		t.Errorf("blocks %x", kinds)
	}
	name := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("SKIP what tshark reads in it: install tshark")
	}
	out, err := exec.Command("tshark", "-r", name, "-o", "udp.check_checksum:TRUE", "-T", "fields",
		"-e", "udp.checksum.status", "-e", "udp.payload").Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Fields(string(out)); !strings.Contains(string(out), "6f7574") ||
		!strings.Contains(string(out), "68656c6c6f") || lines[0] != "1" {
		t.Errorf("tshark reads:\n%s", out)
	}
}

// blocks walks a pcapng file by the lengths at both ends of each block, and returns the types of
// the blocks.
func blocks(t *testing.T, b []byte) (kinds []uint32) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < 12 {
			t.Fatalf("%d bytes are left", len(b))
		}
		n := int(binary.LittleEndian.Uint32(b[4:]))
		if n%4 != 0 || n > len(b) || binary.LittleEndian.Uint32(b[n-4:]) != uint32(n) {
			t.Fatalf("a block of %d bytes", n)
		}
		kinds = append(kinds, binary.LittleEndian.Uint32(b))
		b = b[n:]
	}
	return kinds
}

type full struct{ after int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAFullDiskEndsTheCaptureNotTheLink(t *testing.T) {
	a, b := Pair()
	defer closeBoth(t, a, b)
	if _, err := NewCapture(a, "x", &full{}); !errors.Is(err, errFull) {
		t.Errorf("at the start: %v", err)
	}
	c, err := NewCapture(a, "x", &full{1})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Write(GSO{}, make([]byte, 20)); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(c.Err(), errFull) {
		t.Errorf("the capture: %v", c.Err())
	}
	if n, err := b.Read(make([]Frame, 4)); n != 2 || err != nil {
		t.Errorf("the link: %d, %v", n, err)
	}
}

func TestComplete(t *testing.T) {
	frame, gso := udpFrame("odd")
	Complete(gso, frame)
	ip, segment, err := wire.ParseIPv4(frame[wire.EthernetLen:])
	if err != nil {
		t.Fatal(err)
	}
	if sum := wire.Sum(segment, wire.PseudoSum(ip.Src, ip.Dst, ip.Protocol,
		len(segment))); sum != 0xffff {
		t.Errorf("the sum is %04x", sum)
	}
	for _, bad := range []GSO{{Partial: true, Start: 60000}, {Partial: true, Start: 10,
		Offset: 60000}, {Partial: true, Start: uint16(len(frame) - 1)}} {
		Complete(bad, frame) // must not panic
	}
}

// TestCompleteHasOneZero holds how a sum of 0 is written: in UDP 0 means no checksum.
func TestCompleteHasOneZero(t *testing.T) {
	for offset, want := range map[uint16]uint16{checksumUDP: 0xffff, 16: 0} {
		frame := make([]byte, 20)
		frame[0], frame[1] = 0xff, 0xff
		Complete(GSO{Partial: true, Offset: offset}, frame)
		if got := binary.BigEndian.Uint16(frame[offset:]); got != want {
			t.Errorf("at %d: %04x, want %04x", offset, got, want)
		}
	}
}
