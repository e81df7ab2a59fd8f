package gonet

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/neighbour"
	"interleave/gonet/wire"
)

// pinStation tells a stack for good which station has an address.
func (s *Stack) pinStation(a netip.Addr, mac wire.MAC) {
	s.onNeighbours(func(c *neighbour.Cache, _ time.Time) { c.AddPermanent(a, mac) })
}

// countNeighbours returns the number of neighbours in the cache, and the size of the packets that
// wait for them, in bytes.
func (s *Stack) countNeighbours() (n, waiting int) {
	s.onNeighbours(func(c *neighbour.Cache, _ time.Time) { n, waiting = c.Len(), c.Waiting() })
	return n, waiting
}

// stateOf returns the state of a neighbour in the cache.
func (s *Stack) stateOf(t *testing.T, a netip.Addr) (state neighbour.State) {
	t.Helper()
	s.onNeighbours(func(c *neighbour.Cache, _ time.Time) {
		if e := c.Get(a); e != nil {
			state = e.State()
		} else {
			t.Errorf("%v is not in the cache", a)
		}
	})
	return state
}

// wireTap is the far end of a stack's link in the hands of a test: it reads what the stack sends,
// and sends IPv6 packets to it.
type wireTap struct {
	t    *testing.T
	end  *link.End
	to   *Stack
	mac  wire.MAC
	sent chan []byte
}

// newWireTap makes a stack and the wireTap at its link.
func newWireTap(t *testing.T, change ...func(*Config)) *wireTap {
	t.Helper()
	return newWireTapOn(t, nil, change...)
}

// newWireTapOn is newWireTap on a wire with options.
func newWireTapOn(t *testing.T, options []link.Option, change ...func(*Config)) *wireTap {
	t.Helper()
	end, other := link.Pair(options...)
	t.Cleanup(func() { _ = end.Close() }) // never fails
	w := &wireTap{t: t, end: end, mac: wire.MAC{2, 5: 9}, sent: make(chan []byte, 1<<16)}
	go func() {
		batch := make([]link.Frame, 1)
		for {
			n, err := end.Read(batch)
			if err != nil {
				return
			}
			for _, f := range batch[:n] {
				w.sent <- bytes.Clone(f.Data)
			}
		}
	}()
	w.to = host6(t, other, "2", change...)
	return w
}

// ip sends a packet.
func (w *wireTap) ip(h wire.IPv6, body []byte) {
	w.t.Helper()
	e := wire.Ethernet{Dst: w.to.MAC(), Src: w.mac, Type: wire.EtherIPv6}
	if h.Dst.IsMulticast() {
		e.Dst = wire.MulticastMAC(h.Dst)
	}
	b := make([]byte, wire.EthernetLen+wire.IPv6Len)
	h.Length = uint16(len(body))
	h.Put(b[e.Put(b):])
	if err := w.end.Write(link.GSO{}, b[wire.EthernetLen-w.to.link.header:], body); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// icmp sends a message.
func (w *wireTap) icmp(src, dst netip.Addr, hopLimit uint8, b []byte) {
	w.t.Helper()
	wire.SealICMP(b, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(b)))
	w.ip(wire.IPv6{Src: src, Dst: dst, HopLimit: hopLimit, NextHeader: wire.ProtocolICMPv6}, b)
}

// mldQuery sends a query of MLDv2, with a router alert, for a group or for all.
func (w *wireTap) mldQuery(src, dst netip.Addr, code uint16, group netip.Addr,
	sources ...netip.Addr) {
	w.t.Helper()
	b := make([]byte, wire.RouterAlertLen, 100)
	wire.PutRouterAlert(b, wire.ProtocolICMPv6)
	b = append(b, wire.ICMPv6MLDQuery, 0, 0, 0, byte(code>>8), byte(code), 0, 0)
	b = append(append(b, group.AsSlice()...), 0, 0, 0, byte(len(sources)))
	for _, a := range sources {
		b = append(b, a.AsSlice()...)
	}
	query := b[wire.RouterAlertLen:]
	wire.SealICMP(query, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(query)))
	w.ip(wire.IPv6{Src: src, Dst: dst, HopLimit: 1, NextHeader: wire.ProtocolHopByHop}, b)
}

// neighbor sends a solicitation or an advertisement.
func (w *wireTap) neighbor(src, dst netip.Addr, kind uint8, n wire.Neighbor) {
	w.t.Helper()
	b := make([]byte, 32)
	w.icmp(src, dst, ndHopLimit, b[:n.Put(b, kind)])
}

// message is an ICMPv6 message that the stack has sent.
type message struct {
	wire.ICMP
	ip   wire.IPv6
	mac  wire.MAC
	body []byte
}

// messages returns the messages of the given types that the stack has sent since the last call.
func (w *wireTap) messages(kinds ...uint8) []message {
	w.t.Helper()
	synctest.Wait()
	var found []message
	for {
		select {
		case frame := <-w.sent:
			b := packetOf(frame, w.to.link.features.L3)
			if len(b) == 0 || b[0]>>4 != 6 {
				continue
			}
			mac := wire.MAC{}
			if !w.to.link.features.L3 {
				mac = wire.MAC(frame)
			}
			h, body, err := wire.ParseIPv6(b)
			if err != nil {
				w.t.Fatal(err)
			}
			c, err := wire.ParseChain(h.NextHeader, body)
			if err != nil {
				w.t.Fatal(err)
			}
			if c.Protocol != wire.ProtocolICMPv6 || c.IsFragment {
				continue
			}
			m, rest, err := wire.ParseICMP(c.Payload, wire.PseudoSum(h.Src, h.Dst, c.Protocol,
				len(c.Payload)))
			if err != nil {
				w.t.Fatalf("what the stack has sent: %v", err)
			}
			if slices.Contains(kinds, m.Type) {
				found = append(found, message{m, h, mac, rest})
			}
		default:
			return found
		}
	}
}

// known puts the test's neighbour into the stack's cache.
func (w *wireTap) known(a netip.Addr) {
	w.t.Helper()
	time.Sleep(2 * time.Second) // duplicate address detection has ended
	w.neighbor(a, addrY, wire.ICMPv6NeighborSolicit, wire.Neighbor{Target: addrY, MAC: w.mac,
		HasMAC: true})
	w.to.pinStation(a, w.mac)
	w.messages(0)
}

// problemFor sends an ICMPv6 error about a packet that the stack has sent.
func (w *wireTap) problemFor(kind, code uint8, rest uint32, quote []byte) {
	w.t.Helper()
	b := make([]byte, wire.ICMPLen)
	m := wire.ICMP{Type: kind, Code: code, Rest: rest}
	m.Put(b)
	w.icmp(addrX, addrY, 64, append(b, quote[:min(len(quote), 1232)]...))
}

// next returns the next packet with a protocol that the stack has sent.
func (w *wireTap) next(protocol wire.Protocol) []byte {
	w.t.Helper()
	for {
		synctest.Wait()
		select {
		case frame := <-w.sent:
			if e, b, err := wire.ParseEthernet(frame); err == nil && e.Type == wire.EtherIPv6 &&
				wire.Protocol(b[6]) == protocol {
				return b
			}
		default:
			w.t.Fatalf("the stack has sent no %v", protocol)
		}
	}
}
