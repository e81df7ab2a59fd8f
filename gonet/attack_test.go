package gonet

import (
	"bytes"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// The tests in attack_* have an attacker on the victim's wire. They hold that memory and goroutines
// stay bounded, and that others are served meanwhile.

// attacker writes any frame, from any address, and reads all that the victim sends.
type attacker struct {
	t          *testing.T
	end        link.Link
	victim     *Stack
	mac        wire.MAC
	discarding atomic.Bool // frames of the victim are not kept
	mu         sync.Mutex
	received   [][]byte // frames of the victim
	sent       int
	pace       time.Duration // pause after each 500 frames
}

// newAttacker returns an attacker at an end of a wire that another host may use too.
func newAttacker(t *testing.T, end link.Link, victim *Stack) *attacker {
	return &attacker{t: t, end: end, victim: victim, mac: wire.MAC{2, 5: 9}}
}

// newLoneAttacker returns an attacker that shares a wire with a new victim only, and reads what the
// victim sends.
func newLoneAttacker(t *testing.T, change ...func(*Config)) *attacker {
	t.Helper()
	return newLoneAttackerOn(t, nil, change...)
}

// newLoneAttackerOn is newLoneAttacker on a wire with options.
func newLoneAttackerOn(t *testing.T, options []link.Option, change ...func(*Config)) *attacker {
	t.Helper()
	end, other := link.Pair(options...)
	t.Cleanup(func() { _ = end.Close() }) // never fails
	o := newAttacker(t, end, nil)
	go func() {
		batch := make([]link.Frame, 32)
		for {
			n, err := end.Read(batch)
			if err != nil {
				return
			}
			if o.discarding.Load() {
				continue
			}
			o.mu.Lock()
			for _, f := range batch[:n] {
				o.received = append(o.received, bytes.Clone(f.Data))
			}
			o.mu.Unlock()
		}
	}()
	o.victim = host6(t, other, "2", append([]func(*Config){func(c *Config) {
		c.NoDAD, c.NoAutoconf = true, true
		c.TCP.KeepAlive = -1 // attackers do not answer probes, and tests sleep for minutes
	}}, change...)...)
	return o
}

// frame sends a packet in a frame, or as it is on an L3 link, which takes no ARP. The wire's queue
// holds 1000, so the attacker pauses now and then until the victim has read them.
func (o *attacker) frame(kind wire.EtherType, pieces ...[]byte) {
	o.t.Helper()
	e := wire.Ethernet{Dst: o.victim.MAC(), Src: o.mac, Type: kind}
	var header [wire.EthernetLen]byte
	e.Put(header[:])
	if o.victim.link.features.L3 && kind == wire.EtherARP {
		return
	}
	pieces = append([][]byte{header[:o.victim.link.header]}, pieces...)
	if err := o.end.Write(link.GSO{}, pieces...); err != nil {
		o.t.Fatal(err)
	}
	if o.sent++; o.sent%500 == 0 {
		time.Sleep(o.pace)
		synctest.Wait()
	}
}

// ip sends a packet of the family of its addresses.
func (o *attacker) ip(src, dst netip.Addr, protocol wire.Protocol, body []byte) {
	o.t.Helper()
	if src.Is4() {
		h := wire.IPv4{Length: uint16(wire.IPv4Len + len(body)), TTL: 64, Protocol: protocol,
			Src: src, Dst: dst, ID: uint16(o.sent)}
		b := make([]byte, wire.IPv4Len)
		h.Put(b)
		o.frame(wire.EtherIPv4, b, body)
		return
	}
	h := wire.IPv6{Length: uint16(len(body)), NextHeader: protocol, HopLimit: 255, Src: src,
		Dst: dst}
	b := make([]byte, wire.IPv6Len)
	h.Put(b)
	o.frame(wire.EtherIPv6, b, body)
}

// tcp sends a segment with a good checksum.
func (o *attacker) tcp(src, dst netip.AddrPort, h wire.TCP, payload ...byte) {
	o.t.Helper()
	h.SrcPort, h.DstPort = src.Port(), dst.Port()
	b := make([]byte, h.Len(), h.Len()+len(payload))
	h.Put(b)
	b = append(b, payload...)
	o.sealed(src.Addr(), dst.Addr(), b)
}

// sealed fills in the checksum of a segment and sends it.
func (o *attacker) sealed(src, dst netip.Addr, b []byte) {
	o.t.Helper()
	b[16], b[17] = 0, 0
	sum := ^wire.Sum(b, wire.PseudoSum(src, dst, wire.ProtocolTCP, len(b)))
	b[16], b[17] = byte(sum>>8), byte(sum)
	o.ip(src, dst, wire.ProtocolTCP, b)
}

// udp sends a datagram with a good checksum.
func (o *attacker) udp(src, dst netip.AddrPort, payload []byte) {
	o.t.Helper()
	b := make([]byte, wire.UDPLen, wire.UDPLen+len(payload))
	h := wire.UDP{SrcPort: src.Port(), DstPort: dst.Port(), Length: uint16(cap(b))}
	h.Put(b)
	b = append(b, payload...)
	h.Checksum = ^wire.Sum(b, wire.PseudoSum(src.Addr(), dst.Addr(), wire.ProtocolUDP, len(b)))
	h.Put(b)
	o.ip(src.Addr(), dst.Addr(), wire.ProtocolUDP, b)
}

// claims tells the victim by ARP that the attacker has an address: it asks for the victim from
// there, and answers what the victim may have asked.
func (o *attacker) claims(a netip.Addr) {
	o.t.Helper()
	for _, op := range []uint16{wire.ARPRequest, wire.ARPReply} {
		m := wire.ARP{Op: op, SenderMAC: o.mac, SenderIP: a, TargetIP: addrV}
		b := make([]byte, wire.ARPLen)
		m.Put(b)
		o.frame(wire.EtherARP, b)
	}
	synctest.Wait()
}

// segments returns the TCP segments that the victim has sent since the last call.
func (o *attacker) segments() (found []reply) {
	o.t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, frame := range o.received {
		b := packetOf(frame, o.victim.link.features.L3)
		if len(b) == 0 || b[0]>>4 != 4 {
			continue
		}
		ip, body, err := wire.ParseIPv4(b)
		if err != nil {
			o.t.Fatal(err)
		}
		if ip.Protocol != wire.ProtocolTCP {
			continue
		}
		h, text, err := wire.ParseTCP(body)
		if err != nil {
			o.t.Fatal(err)
		}
		found = append(found, reply{h, ip.Dst, text})
	}
	o.received = nil
	return found
}

// reply is a segment that the victim has sent.
type reply struct {
	wire.TCP
	to   netip.Addr
	text []byte
}

// handshake opens a connection and returns the next sequence numbers: the attacker's and the
// victim's.
func (o *attacker) handshake(src, dst netip.AddrPort, window uint16,
	options wire.TCPOptions) (seq, ack uint32) {
	o.t.Helper()
	o.segments()
	o.tcp(src, dst, wire.TCP{Seq: 1000, Flags: wire.SYN, Window: window, Options: options})
	for _, s := range o.segments() {
		if s.Flags == wire.SYN|wire.ACK && s.DstPort == src.Port() {
			o.tcp(src, dst, wire.TCP{Seq: 1001, Ack: s.Seq + 1, Flags: wire.ACK, Window: window})
			synctest.Wait()
			return 1001, s.Seq + 1
		}
	}
	o.t.Fatal("no answer to a SYN")
	return 0, 0
}

// The IPv4 addresses in these tests: the client's, the victim's, and one that the attacker claims.
var (
	addrC = netip.MustParseAddr("10.0.0.1")
	addrV = netip.MustParseAddr("10.0.0.2")
	addrO = netip.MustParseAddr("10.0.0.3")
)

// at returns an address with a port.
func at(a netip.Addr, port int) netip.AddrPort { return netip.AddrPortFrom(a, uint16(port)) }

// fewer returns n, or a part of it under the race detector, which takes ten times as long for each
// packet. A test that has fewer still passes the bound that it is about.
func fewer(n, part int) int {
	if underRace {
		return n / part
	}
	return n
}

// memory returns the size in bytes of the heap and the stacks in use.
func memory() int64 {
	runtime.GC()
	runtime.GC() // the second collection empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// growthMeter measures by how much memory and goroutines have grown since its start: the largest of
// all measurements, and the last.
type growthMeter struct {
	t              *testing.T
	memory         int64
	goroutines     int
	most           int64
	mostGoroutines int
	atEnd          int64
	lastRoutine    int
}

func newGrowth(t *testing.T) *growthMeter {
	return &growthMeter{t: t, memory: memory(), goroutines: runtime.NumGoroutine()}
}

func (c *growthMeter) measure() {
	c.atEnd = memory() - c.memory
	c.most = max(c.most, c.atEnd)
	// goroutines that were ending have ended by now
	c.lastRoutine = runtime.NumGoroutine() - c.goroutines
	c.mostGoroutines = max(c.mostGoroutines, c.lastRoutine)
}

// within fails the test if memory, in bytes, or goroutines have grown beyond the limits, and logs
// the growth.
func (c *growthMeter) within(bytes int64, goroutines int) {
	c.t.Helper()
	c.measure()
	c.t.Logf("at most %d KiB and %d goroutines more, %d KiB at the end", c.most>>10,
		c.mostGoroutines, c.atEnd>>10)
	if c.most > bytes && !underRace {
		c.t.Errorf("%d KiB more were held, at most %d KiB may be", c.most>>10, bytes>>10)
	}
	if c.mostGoroutines > goroutines {
		c.t.Errorf("%d goroutines more ran, at most %d may", c.mostGoroutines, goroutines)
	}
}
