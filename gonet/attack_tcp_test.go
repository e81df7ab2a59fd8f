package gonet

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// attackConnection runs f with an attacker that has a connection to an echo server, whose sequence
// numbers a blind attacker would have to guess. Afterwards it checks that the connection still
// echoes.
func attackConnection(t *testing.T,
	f func(t *testing.T, o *attacker, src, dst netip.AddrPort, seq, ack uint32), echoed ...uint32) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			o := newLoneAttackerOn(t, options)
			serveEcho(t, o.victim, ":7")
			o.claims(addrO)
			src, dst := at(addrO, 4000), at(addrV, 7)
			seq, ack := o.handshake(src, dst, 60_000, wire.TCPOptions{MSS: 1460})
			o.segments()
			f(t, o, src, dst, seq, ack)
			for _, n := range echoed { // bytes that f has sent and got back
				seq, ack = seq+n, ack+n
			}
			o.claims(addrO) // a neighbour that was silent is resolved again
			o.segments()
			o.tcp(src, dst, wire.TCP{Seq: seq, Ack: ack, Flags: wire.ACK | wire.PSH,
				Window: 60_000}, []byte("alive")...)
			for _, s := range o.segments() {
				if string(s.text) == "alive" && s.Seq == ack && s.Ack == seq+5 {
					return
				}
			}
			t.Error("the connection does not echo any more")
		})
	})
}

// TestAttackBlind holds that an attacker without the sequence numbers can neither end a connection
// nor change its bytes, and is answered rarely (RFC 5961).
func TestAttackBlind(t *testing.T) {
	for name, blind := range map[string]func(i uint32, seq, ack uint32) (wire.TCP, string){
		"resets in the window": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq + 1 + i, Flags: wire.RST}, ""
		},
		"resets beyond it": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq + 1<<20 + i*40_000, Flags: wire.RST}, ""
		},
		"resets with an ACK": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq + 1 + i, Ack: ack, Flags: wire.RST | wire.ACK}, ""
		},
		"SYNs": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq + i*100_000, Flags: wire.SYN}, ""
		},
		"SYNs, exactly": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq, Flags: wire.SYN}, ""
		},
		"data with acknowledgements of the future": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq, Ack: ack + 1 + i*100_000, Flags: wire.ACK}, "forged"
		},
		"data with acknowledgements of the past": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq, Ack: ack - 70_000 - i*100_000, Flags: wire.ACK}, "forged"
		},
		"data without an acknowledgement": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq}, "forged"
		},
		"ends without an acknowledgement": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq, Flags: wire.FIN}, ""
		},
		"nothing at all": func(i, seq, ack uint32) (wire.TCP, string) {
			return wire.TCP{Seq: seq + i}, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			attackConnection(t, func(t *testing.T, o *attacker, src, dst netip.AddrPort,
				seq, ack uint32) {
				start := time.Now()
				tries := uint32(fewer(10_000, 10))
				for i := range tries {
					h, text := blind(i, seq, ack)
					o.tcp(src, dst, h, []byte(text)...)
					if i%(tries/20) == 0 {
						time.Sleep(50 * time.Millisecond)
					}
				}
				most := 2 + 2*int(time.Since(start)/time.Second)
				if n := len(o.segments()); n > most {
					t.Errorf("%d answers in %v, at most %d", n, time.Since(start), most)
				}
			})
		})
	}
}

// TestAttackChristmasTree sends every combination of flags to a listener, a connection and closed
// ports: all still work.
func TestAttackChristmasTree(t *testing.T) {
	attackConnection(t, func(t *testing.T, o *attacker, src, dst netip.AddrPort, seq, ack uint32) {
		for flags := range 256 {
			h := wire.TCP{Flags: wire.Flags(flags), Seq: seq, Ack: ack, Window: 60_000, Urgent: 7}
			o.tcp(at(addrO, 5000+flags), dst, h, []byte("text")...) // to the listener
			o.tcp(at(addrO, 5000+flags), at(addrV, 9), h)           // to a closed port
			// from the victim itself (LAND)
			o.tcp(at(addrV, 7), at(addrV, 7), h)
			o.tcp(at(addrO, 0), at(addrV, 0), h)                        // from and to port 0
			o.tcp(src, dst, wire.TCP{Flags: h.Flags, Seq: seq + 1<<31}) // far out of the window
		}
		synctest.Wait()
		time.Sleep(10 * time.Minute) // half-open connections time out
		if err := o.victim.claim(func() {
			if n := len(o.victim.tcp.conns); n > 1 {
				t.Errorf("%d connections are left", n)
			}
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAttackOptions sends each option kind with each length, whole and cut, in a SYN and in a
// connection. Under the race detector it sends the kinds below 32, among which are all that TCP
// uses.
func TestAttackOptions(t *testing.T) {
	attackConnection(t, func(t *testing.T, o *attacker, src, dst netip.AddrPort, seq, ack uint32) {
		n := 0
		try := func(options []byte) {
			n++
			for _, h := range []wire.TCP{{Flags: wire.SYN, Seq: uint32(n)},
				{Flags: wire.ACK, Seq: seq, Ack: ack, Window: 60_000}} {
				from := src
				if h.Flags == wire.SYN {
					from = at(addrO, 5000+n%50_000)
				}
				h.SrcPort, h.DstPort = from.Port(), dst.Port()
				b := make([]byte, wire.TCPLen, wire.TCPMaxLen)
				h.Put(b)
				b = append(b, options...)
				b = append(b, make([]byte, -len(b)&3)...)
				b[12] = byte(len(b)/4) << 4
				o.sealed(addrO, addrV, b)
			}
		}
		for kind := range fewer(256, 8) {
			for length := range 42 {
				option := append([]byte{byte(kind), byte(length)}, make([]byte, 38)...)
				for i := range option[2:] {
					option[2+i] = 0xff
				}
				try(option[:min(max(length, 2), 40)])
				if length < 12 {
					try(option[:2]) // it exceeds the header
					try(append([]byte{1, 1, 1}, option[:max(length, 2)]...))
				}
			}
		}
		for _, whole := range [][]byte{
			{2, 4, 0, 0}, {2, 4, 0, 1}, {2, 4, 0xff, 0xff}, {3, 3, 255},
			{5, 10, 0, 0, 0, 0, 0, 0, 0, 0}, {1}, {0}, {8, 10, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
			{4, 2, 4, 2, 4, 2, 4, 2}, {3, 3, 14, 3, 3, 0}, {2, 4, 5, 180, 2, 4, 0, 1},
		} {
			try(whole)
		}
		for offset := range 16 { // a data offset of every wrong value
			b := make([]byte, wire.TCPLen)
			h := wire.TCP{SrcPort: src.Port(), DstPort: dst.Port(), Flags: wire.ACK, Seq: seq,
				Ack: ack}
			h.Put(b)
			b[12] = byte(offset) << 4
			if offset != 5 {
				o.sealed(addrO, addrV, b)
			}
		}
		for n := range wire.TCPLen { // a header that is cut
			o.ip(addrO, addrV, wire.ProtocolTCP, make([]byte, n))
		}
	})
}

// TestAttackClosedWindows has clients request much and read nothing: they keep a window of 0 or 1,
// and answer probes for ever. A server that closes after a minute gets its memory back.
func TestAttackClosedWindows(t *testing.T) {
	for name, window := range map[string]uint16{"closed": 0, "of a byte": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newLoneAttacker(t)
				o.claims(addrO)
				l, err := o.victim.Listen("tcp", ":80")
				if err != nil {
					t.Fatal(err)
				}
				page := make([]byte, 1<<20)
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						go func() {
							_ = c.SetDeadline(time.Now().Add(time.Minute))
							_, _ = c.Write(page) // it blocks soon
							_ = c.Close()
						}()
					}
				}()
				growth := newGrowth(t)
				clients := fewer(100, 10)
				next := map[uint16]uint32{}
				for i := range clients {
					_, ack := o.handshake(at(addrO, 4000+i), at(addrV, 80), window,
						wire.TCPOptions{MSS: 1460})
					next[uint16(4000+i)] = ack
				}
				growth.measure()
				for range 30 * 60 {
					time.Sleep(time.Second)
					o.claims(addrO) // the attacker still answers ARP
					for _, s := range o.segments() {
						if s.Flags&wire.RST != 0 {
							continue
						}
						ack := next[s.DstPort]
						if window > 0 && s.Seq == ack {
							ack += uint32(min(len(s.text), int(window)))
							next[s.DstPort] = ack
						}
						o.tcp(at(addrO, int(s.DstPort)), at(addrV, 80),
							wire.TCP{Seq: 1001, Ack: ack, Flags: wire.ACK, Window: window})
					}
				}
				// 64 KiB that wait to be sent, for each.
				growth.within(int64(clients)*(3*64<<10), clients+10)
				left := 0
				if err := o.victim.claim(func() { left = len(o.victim.tcp.conns) }); err != nil {
					t.Fatal(err)
				}
				if window == 0 && left > 0 {
					t.Errorf("%d connections that nobody has are left", left)
				}
			})
		})
	}
}

// TestAttackHoles sends single bytes with holes, or in reverse order: the memory for them is
// bounded, and they are used when the first byte arrives.
func TestAttackHoles(t *testing.T) {
	for name, step := range map[string]uint32{"holes": 2, "from behind": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newLoneAttacker(t)
				serveEcho(t, o.victim, ":7")
				o.claims(addrO)
				src, dst := at(addrO, 4000), at(addrV, 7)
				seq, ack := o.handshake(src, dst, 60_000, wire.TCPOptions{MSS: 1460})
				growth := newGrowth(t)
				o.discarding.Store(true)
				last := uint32(fewer(60_000, 10))
				for i := last; i > 1; i -= step {
					o.tcp(src, dst, wire.TCP{Seq: seq + i, Ack: ack, Flags: wire.ACK,
						Window: 60_000}, 'x')
				}
				synctest.Wait()
				growth.within(4<<20, 2)
				o.discarding.Store(false)
				o.tcp(src, dst, wire.TCP{Seq: seq, Ack: ack, Flags: wire.ACK, Window: 60_000}, 'x',
					'x', 'x')
				far := uint32(0)
				for _, s := range o.segments() {
					far = max(far, s.Ack-seq)
				}
				if want := map[uint32]uint32{2: 3, 1: last + 1}[step]; far != want {
					t.Errorf("acknowledged up to byte %d, want %d", far, want)
				}
			})
		})
	}
}
