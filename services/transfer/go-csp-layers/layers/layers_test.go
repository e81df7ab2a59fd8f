package layers

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/wire"
)

// plug is a device whose far end is the test.
type plug struct{ cable }

var (
	ours   = netip.MustParseAddr("10.0.0.2")
	theirs = netip.MustParseAddr("10.0.0.1")
	// theirMAC is that of the test.
	theirMAC = wire.MAC{2, 0, 0, 0, 0, 1}
)

func newPlug() *plug {
	return &plug{cable{out: make(chan []byte, 4096), in: make(chan []byte),
		closed: make(chan struct{})}}
}

// host starts a stack behind a plug.
func host(t testing.TB) (*Stack, *plug) {
	t.Helper()
	p := newPlug()
	s, err := New(Config{Device: &serial{Device: p, turn: make(chan struct{}, 1)},
		Address: netip.PrefixFrom(ours, 24), Gateway: theirs})
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// says returns the frame with which a station tells its address and asks for ours.
func says(address netip.Addr) []byte {
	b := make([]byte, wire.EthernetLen+wire.ARPLen)
	h := wire.Ethernet{Dst: wire.Broadcast, Src: theirMAC, Type: wire.EtherARP}
	m := wire.ARP{Op: wire.ARPRequest, SenderMAC: theirMAC, SenderIP: address, TargetIP: ours}
	m.Put(b[h.Put(b):])
	return b
}

// packet returns a frame to us.
func packet(h wire.IPv4, payload []byte) []byte {
	h.Length, h.TTL, h.Src, h.Dst = uint16(wire.IPv4Len+len(payload)), 64, theirs, ours
	b := make([]byte, headroom+len(payload))
	e := wire.Ethernet{Dst: stationMAC, Src: theirMAC, Type: wire.EtherIPv4}
	h.Put(b[e.Put(b):])
	copy(b[headroom:], payload)
	return b
}

// ping returns an echo request.
func ping(id, seq uint16, data []byte) []byte {
	b := make([]byte, wire.ICMPLen+len(data))
	h := wire.Echo(wire.ICMPEcho, id, seq)
	copy(b[h.Put(b):], data)
	wire.SealICMP(b, 0)
	return b
}

func TestPing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, p := host(t)
		p.in <- says(theirs)
		synctest.Wait() // else the ping may come to its layer first, and ARP asks who has sent it
		data := bytesOf(3000)
		request := ping(4711, 3, data)
		// in fragments, the last first
		p.in <- packet(wire.IPv4{ID: 1, Protocol: wire.ProtocolICMP, Offset: 1480}, request[1480:])
		p.in <- packet(wire.IPv4{ID: 1, Protocol: wire.ProtocolICMP, MoreFragments: true},
			request[:1480])
		synctest.Wait()
		if m, err := wire.ParseARP((<-p.out)[wire.EthernetLen:]); err != nil ||
			m.Op != wire.ARPReply || m.SenderIP != ours || m.TargetMAC != theirMAC {
			t.Errorf("the answer to ARP: got %+v and %v", m, err)
		}
		var reply []byte
		for len(p.out) > 0 {
			h, payload, err := wire.ParseIPv4((<-p.out)[wire.EthernetLen:])
			if err != nil || int(h.Offset) != len(reply) {
				t.Fatalf("fragment %+v: %v, want offset %d", h, err, len(reply))
			}
			reply = append(reply, payload...)
		}
		h, body, err := wire.ParseICMP(reply, 0)
		if err != nil || h.Type != wire.ICMPEchoReply || h.ID() != 4711 || h.Seq() != 3 ||
			!bytes.Equal(body, data) {
			t.Errorf("the reply: got %+v, %d bytes and %v", h, len(body), err)
		}
		stop(t, s)
	})
}

// TestNotForUs: frames and packets for others, and broken ones, are dropped without an answer.
func TestNotForUs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, p := host(t)
		p.in <- says(theirs)
		<-p.out
		good := packet(wire.IPv4{Protocol: wire.ProtocolICMP}, ping(1, 1, nil))
		for name, change := range map[string]func(b []byte){
			"another station":    func(b []byte) { b[5]++ },
			"another type":       func(b []byte) { b[12]++ },
			"version 5":          func(b []byte) { b[14] = 0x55 },
			"a wrong checksum":   func(b []byte) { b[25]++ },
			"an echo reply":      func(b []byte) { b[34], b[36] = 0, b[36]+8 },
			"a wrong ICMP sum":   func(b []byte) { b[41]++ },
			"an unknown code":    func(b []byte) { b[35]++; wire.SealICMP(b[34:], 0) },
			"nothing is changed": func([]byte) {},
		} {
			b := bytes.Clone(good)
			change(b)
			p.in <- b
			synctest.Wait()
			want := 0
			if name == "nothing is changed" {
				want = 1
			}
			if got := len(p.out); got != want {
				t.Errorf("%s: got %d frames, want %d", name, got, want)
			}
			for len(p.out) > 0 {
				<-p.out
			}
		}
		stop(t, s)
	})
}

// TestStationIsAskedFor: requests go out until a reply comes, and what waits is sent then.
func TestStationIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, p := host(t)
		p.in <- packet(wire.IPv4{Protocol: wire.ProtocolICMP}, ping(1, 1, nil))
		time.Sleep(1500 * time.Millisecond)
		if len(p.out) != 2 {
			t.Fatalf("got %d frames after 1.5 s, want two requests", len(p.out))
		}
		for range 2 {
			m, err := wire.ParseARP((<-p.out)[wire.EthernetLen:])
			if err != nil || m.Op != wire.ARPRequest || m.TargetIP != theirs {
				t.Errorf("got %+v and %v, want a request for %v", m, err, theirs)
			}
		}
		p.in <- says(theirs)
		synctest.Wait()
		if len(p.out) != 2 { // the ping's reply, and ours to the request
			t.Errorf("got %d frames after the station has spoken, want two", len(p.out))
		}
		stop(t, s)
	})
}

func TestReassembly(t *testing.T) {
	whole := bytesOf(40)
	cut := func(from, to int) fragment { return fragment{from, whole[from:to], to < len(whole)} }
	for _, test := range []struct {
		name      string
		fragments []fragment
		ok, done  bool
	}{
		{"in order", []fragment{cut(0, 16), cut(16, 32), cut(32, 40)}, true, true},
		{"out of order", []fragment{cut(32, 40), cut(16, 32), cut(0, 16)}, true, true},
		{"twice", []fragment{cut(0, 16), cut(0, 16), cut(16, 40)}, true, true},
		{"a hole", []fragment{cut(0, 16), cut(32, 40)}, true, false},
		{"no end", []fragment{cut(0, 16), cut(16, 32)}, true, false},
		{"overlap", []fragment{cut(0, 16), cut(8, 24)}, false, false},
		{"two ends", []fragment{cut(32, 40), {24, whole[24:32], false}}, false, false},
		{"behind the end", []fragment{{16, whole[16:32], false}, cut(32, 40)}, false, false},
		{"end before others", []fragment{cut(32, 40), {8, whole[8:16], false}}, false, false},
		{"odd", []fragment{{0, whole[:9], true}}, false, false},
		{"empty", []fragment{{0, nil, false}}, false, false},
		{"too long", []fragment{{maxDatagram - 7, whole[:8], false}}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d reassembly
			ok := true
			for _, f := range test.fragments {
				ok = ok && d.add(f)
			}
			got := d.whole()
			if ok != test.ok || (ok && test.done) != (got != nil && ok) {
				t.Errorf("fits: %v, want %v; whole: %v, want %v", ok, test.ok, got != nil,
					test.done)
			}
			if test.done && !bytes.Equal(got, whole) {
				t.Errorf("got %x, want %x", got, whole)
			}
		})
	}
}

// TestAssemblersEnd: a datagram that is never whole is forgotten, and its number is free again.
func TestAssemblersEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, p := host(t)
		p.in <- says(theirs)
		<-p.out
		request := ping(1, 1, bytesOf(56))
		for id := range 2 * maxAssemblers { // more than are put together at once
			p.in <- packet(wire.IPv4{ID: uint16(id), Protocol: wire.ProtocolICMP,
				MoreFragments: true}, request[:32])
		}
		time.Sleep(assemblyTime + time.Second)
		p.in <- packet(wire.IPv4{ID: 1, Protocol: wire.ProtocolICMP, MoreFragments: true},
			request[:32])
		p.in <- packet(wire.IPv4{ID: 1, Protocol: wire.ProtocolICMP, Offset: 32}, request[32:])
		synctest.Wait()
		if len(p.out) != 1 {
			t.Errorf("got %d replies, want one", len(p.out))
		}
		stop(t, s)
	})
}

func TestRTT(t *testing.T) {
	r := newRTT()
	if r.rto != time.Second {
		t.Errorf("at first: got %v, want 1s", r.rto)
	}
	r.backOff()
	if r.rto != 2*time.Second {
		t.Errorf("backed off: got %v, want 2s", r.rto)
	}
	r.sample(2 * time.Second) // RFC 6298 (2.2): R + 4 * R/2
	if r.rto != 6*time.Second {
		t.Errorf("after a sample of 2 s: got %v, want 6s", r.rto)
	}
	r.sample(3 * time.Second) // (2.3): 2.125 + 4 * (0.75 + 0.25)
	if r.rto != 6125*time.Millisecond {
		t.Errorf("after a sample of 3 s: got %v, want 6.125s", r.rto)
	}
	for range 100 {
		r.sample(time.Microsecond)
	}
	if r.rto != minRTO {
		t.Errorf("after fast ones: got %v, want %v", r.rto, minRTO)
	}
	for range 20 {
		r.backOff()
	}
	if r.rto != maxRTO {
		t.Errorf("backed off 20 times: got %v, want %v", r.rto, maxRTO)
	}
}

// FuzzFrames gives frames to a stack that listens. A frame may do no harm, and the stack must end.
func FuzzFrames(f *testing.F) {
	f.Add(says(theirs))
	f.Add(packet(wire.IPv4{Protocol: wire.ProtocolICMP}, ping(1, 2, []byte("data"))))
	f.Add(packet(wire.IPv4{Protocol: wire.ProtocolICMP, MoreFragments: true}, bytesOf(16)))
	syn := make([]byte, wire.TCPLen)
	h := wire.TCP{SrcPort: 5, DstPort: 7, Flags: wire.SYN, Window: 1000}
	h.Put(syn)
	sum := ^wire.Sum(syn, wire.PseudoSum(theirs, ours, wire.ProtocolTCP, len(syn)))
	syn[16], syn[17] = byte(sum>>8), byte(sum)
	f.Add(packet(wire.IPv4{Protocol: wire.ProtocolTCP}, syn))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, p := host(t)
		if _, err := s.Listen(7); err != nil {
			t.Fatal(err)
		}
		p.in <- says(theirs)
		for n := 60; len(b) > 0; b = b[min(n, len(b)):] {
			p.in <- bytes.Clone(b[:min(n, len(b))])
		}
		stop(t, s)
	})
}

// FuzzSegments gives segments of any kind to a connection, in the window and outside. It may end,
// but it must not hang, and its user gets no byte that was not sent.
func FuzzSegments(f *testing.F) {
	f.Add([]byte{0, 10, byte(wire.ACK), 1, 5, 10, byte(wire.ACK | wire.FIN), 1})
	f.Add([]byte{5, 10, byte(wire.ACK), 1, 0, 5, byte(wire.ACK), 1, 15, 0, 17, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		s, _ := host(t)
		c := newConn(s, flow{netip.AddrPortFrom(ours, 7), netip.AddrPortFrom(theirs, 5)})
		l := &Listener{s, nil, make(chan *Conn, backlog)}
		r := &receiver{Conn: c, listener: l, sentEnd: 1} // our SYN has the number 0
		r.synchronize(&segment{header: wire.TCP{Seq: ^uint32(3), Flags: wire.SYN}})
		start, stream := r.next, bytesOf(1<<10)
		for ; len(script) >= 4 && !r.ended; script = script[4:] {
			at, n := int(script[0]), int(script[1])
			r.receive(&segment{header: wire.TCP{Seq: start + uint32(at), Ack: uint32(script[3]),
				Flags: wire.Flags(script[2]), Window: 100}, data: stream[at : at+n]})
			r.settle()
		}
		if got := bytes.Join(r.pending, nil); !bytes.HasPrefix(stream, got) {
			t.Errorf("got %x, which is not how the stream begins", got)
		}
		if n := r.held; n > buffer {
			t.Errorf("%d bytes are held", n)
		}
		r.end(nil)
		stop(t, s)
	})
}
