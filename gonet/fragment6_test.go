package gonet

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/wire"
)

// echoOf returns an ICMPv6 echo request with size bytes of payload.
func echoOf(src, dst netip.Addr, size int) []byte {
	b := make([]byte, wire.ICMPLen+size)
	m := wire.Echo(wire.ICMPv6Echo, 7, 7)
	m.Put(b)
	wire.SealICMP(b, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(b)))
	return b
}

// part sends the bytes of a datagram from at up to end as a fragment.
func (w *wireTap) part(next wire.Protocol, id uint32, whole []byte, at, end int, more bool) {
	w.t.Helper()
	f := wire.Fragment{NextHeader: next, Offset: uint16(at), More: more, ID: id}
	b := make([]byte, wire.FragmentLen)
	f.Put(b)
	w.ip(wire.IPv6{Src: addrX, Dst: addrY, HopLimit: 64, NextHeader: wire.ProtocolFragment},
		append(b, whole[at:end]...))
}

func TestFragments6(t *testing.T) {
	whole := echoOf(addrX, addrY, 3000)
	echo := wire.ProtocolICMPv6
	for name, c := range map[string]struct {
		send func(w *wireTap)
		want int // replies
	}{
		"the last first": {func(w *wireTap) {
			w.part(echo, 1, whole, 2400, len(whole), false)
			w.part(echo, 1, whole, 1200, 2400, true)
			w.part(echo, 1, whole, 0, 1200, true)
		}, 1},
		"twice the same": {func(w *wireTap) {
			w.part(echo, 1, whole, 0, 1200, true)
			w.part(echo, 1, whole, 0, 1200, true)
			w.part(echo, 1, whole, 1200, len(whole), false)
		}, 1},
		"an overlap": {func(w *wireTap) { // all fragments are dropped, later ones too (RFC 5722)
			w.part(echo, 1, whole, 0, 1200, true)
			w.part(echo, 1, whole, 1192, 2400, true)
			w.part(echo, 1, whole, 0, 1200, true)
			w.part(echo, 1, whole, 1200, len(whole), false)
		}, 0},
		"other bytes in the same place": {func(w *wireTap) {
			w.part(echo, 1, whole, 0, 1200, true)
			w.part(echo, 1, make([]byte, 1200), 0, 1200, true)
			w.part(echo, 1, whole, 1200, len(whole), false)
		}, 0},
		"beyond the end": {func(w *wireTap) {
			w.part(echo, 1, whole, 1200, 2400, false)
			w.part(echo, 1, whole, 2400, len(whole), false)
			w.part(echo, 1, whole, 0, 1200, true)
		}, 0},
		"atomic, beside others of its number": {func(w *wireTap) { // RFC 6946
			w.part(echo, 1, whole, 0, 1200, true)
			small := echoOf(addrX, addrY, 8)
			w.part(echo, 1, small, 0, len(small), false)
			w.part(echo, 1, whole, 1200, len(whole), false)
		}, 2},
		"the first says what it is": {func(w *wireTap) { // RFC 8200 section 4.5
			w.part(wire.ProtocolTCP, 1, whole, 1200, len(whole), false)
			w.part(echo, 1, whole, 0, 1200, true)
		}, 1},
		"fragments within fragments": {func(w *wireTap) {
			inner := make([]byte, wire.FragmentLen)
			f := wire.Fragment{NextHeader: echo, More: true, ID: 2}
			f.Put(inner)
			b := append(inner, whole[:1200]...)
			w.part(wire.ProtocolFragment, 1, b, 0, 800, true)
			w.part(wire.ProtocolFragment, 1, b, 800, len(b), false)
		}, 0},
		"neighbour discovery": {func(w *wireTap) { // RFC 6980
			b := make([]byte, 64)
			n := wire.Neighbor{Target: addrY, MAC: w.mac, HasMAC: true}
			n.Put(b, wire.ICMPv6NeighborSolicit)
			wire.SealICMP(b, wire.PseudoSum(addrX, addrY, echo, len(b)))
			w.part(echo, 1, b, 0, 32, true)
			w.part(echo, 1, b, 32, 64, false)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWireTap(t)
				w.known(addrX)
				c.send(w)
				synctest.Wait()
				got := w.answers()
				if got != c.want {
					t.Errorf("%d answers, want %d", got, c.want)
				}
				time.Sleep(2 * reassemblyTimeout)
				if err := w.to.claim(func() {
					if n := len(w.to.reassemblies); n != 0 {
						t.Errorf("%d datagrams are kept", n)
					}
				}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// answers counts the replies of the stack, each by its first fragment.
func (w *wireTap) answers() (n int) {
	for {
		select {
		case frame := <-w.sent:
			if _, b, err := wire.ParseEthernet(frame); err == nil {
				if h, body, err := wire.ParseIPv6(b); err == nil {
					if c, err := wire.ParseChain(h.NextHeader, body); err == nil &&
						c.Fragment.Offset == 0 {
						n++
					}
				}
			}
		default:
			return n
		}
	}
}

// TestLateFragments6 holds that a datagram whose reassembly times out is answered by an error, if
// its first fragment has arrived.
func TestLateFragments6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWireTap(t)
		w.known(addrX)
		whole := echoOf(addrX, addrY, 3000)
		w.part(wire.ProtocolICMPv6, 1, whole, 0, 1200, true)
		w.part(wire.ProtocolICMPv6, 2, whole, 1200, 2400, true)
		time.Sleep(reassemblyTimeout + time.Second)
		got := w.messages(wire.ICMPv6TimeExceeded)
		if len(got) != 1 || got[0].Code != wire.ExceededReassembly ||
			!bytes.Equal(got[0].body[wire.IPv6Len:], whole[:1200][:1232-wire.IPv6Len]) {
			t.Errorf("got %+v", got)
		}
		if n := w.to.Stats().DroppedFragments; n != 2 {
			t.Errorf("%d datagrams dropped", n)
		}
	})
}
