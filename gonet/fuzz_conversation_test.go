package gonet

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/tcp"
	"interleave/gonet/wire"
)

// script is the fuzzer's input, read from the front; behind its end all bytes are zero.
type script struct{ b []byte }

func (s *script) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	b := s.b[0]
	s.b = s.b[1:]
	return b
}

func (s *script) number(below int) int { return int(s.byte()) % below }

func (s *script) bytes(n int) []byte {
	n = min(n, len(s.b))
	b := s.b[:n:n]
	s.b = s.b[n:]
	return b
}

// dialogue is a conversation: a victim with users, and an attacker that reads what the victim
// sends, all controlled by a script.
type dialogue struct {
	script
	*attacker
	mu      sync.Mutex
	conns   []net.Conn
	busy    [2]map[net.Conn]bool // connections in a Write, in a Read
	closers []io.Closer
	users   sync.WaitGroup
	last    map[uint16]wire.TCP // the victim's last segment to each port of the attacker
}

func (k *dialogue) add(c net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conns = append(k.conns, c)
}

func (k *dialogue) conn() net.Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.conns) == 0 {
		return nil
	}
	return k.conns[k.number(len(k.conns))]
}

// ifIdle has a user read or write a connection, unless another user does so already. To wait for
// the other would stop fake time.
func (k *dialogue) ifIdle(direction int, c net.Conn, f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[direction][c] {
		return
	}
	k.busy[direction][c] = true
	k.users.Go(func() {
		f()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.busy[direction][c] = false
	})
}

// listen stores the segments of the victim.
func (k *dialogue) listen() {
	for _, s := range k.segments() {
		k.last[s.DstPort] = s.TCP
	}
}

// steps are the actions that a byte of the script selects: first the attacker's, then the users'.
var steps = []func(k *dialogue){
	(*dialogue).segment, (*dialogue).segment, (*dialogue).segment, (*dialogue).segment,
	(*dialogue).segment,
	func(k *dialogue) {
		k.frame(wire.EtherType(binary.BigEndian.Uint16([]byte{k.byte(), k.byte()})),
			k.bytes(k.number(128)))
	},
	func(k *dialogue) {
		src, dst := k.pair()
		k.ip(src, dst, wire.Protocol(k.byte()), k.bytes(k.number(128)))
	},
	func(k *dialogue) {
		src, dst := k.pair()
		k.udp(at(src, k.number(4)), at(dst, k.number(4)+50), k.bytes(k.number(64)))
	},
	func(k *dialogue) {
		src, dst := k.pair()
		k.piece(src, dst, uint32(k.number(3)), k.number(64)*8, k.byte()&1 == 0,
			k.bytes(k.number(128)))
	},
	(*dialogue).icmp, (*dialogue).icmp,
	func(k *dialogue) {
		m := wire.ARP{Op: uint16(k.number(3)), SenderMAC: k.mac, SenderIP: k.address4(),
			TargetIP: k.address4()}
		b := make([]byte, wire.ARPLen)
		m.Put(b)
		k.frame(wire.EtherARP, b)
	},
	func(k *dialogue) { k.claims(addrO) }, func(k *dialogue) { k.claims(addrO) },
	func(k *dialogue) { time.Sleep(time.Duration(k.byte()) * time.Millisecond) },
	func(k *dialogue) { time.Sleep(time.Duration(k.byte()) * time.Second) },
	(*dialogue).dial, (*dialogue).dial, (*dialogue).serve,
	func(k *dialogue) {
		if c, n := k.conn(), 1<<k.number(18); c != nil {
			k.ifIdle(0, c, func() { _, _ = c.Write(make([]byte, n)) })
		}
	},
	func(k *dialogue) {
		if c, n := k.conn(), 1<<k.number(18); c != nil {
			k.ifIdle(1, c, func() { _, _ = c.Read(make([]byte, n)) })
		}
	},
	func(k *dialogue) {
		if c, ok := k.conn().(*Conn); ok {
			_ = c.CloseWrite()
		}
	},
	func(k *dialogue) {
		if c := k.conn(); c != nil {
			_ = c.Close()
		}
	},
	func(k *dialogue) {
		if c, ok := k.conn().(*Conn); ok {
			_ = c.Abort()
		}
	},
	func(k *dialogue) {
		if c := k.conn(); c != nil {
			_ = c.SetDeadline(time.Now().Add(time.Duration(k.byte()) * time.Second))
		}
	},
	func(k *dialogue) {
		to, size := k.address4(), k.number(256)*20
		k.users.Go(func() {
			ctx, cancel := context.WithTimeout(k.t.Context(), time.Second)
			defer cancel()
			_, _ = k.victim.Ping(ctx, to, size)
		})
	},
	func(k *dialogue) {
		all := []netip.Prefix{netip.PrefixFrom(addrV, 16+k.number(17)), netip.PrefixFrom(addrY, 64)}
		_ = k.victim.Configure(all[k.number(2):], nil)
	},
	func(k *dialogue) {
		if _, err := k.victim.Snapshot(); err != nil {
			k.t.Error(err)
		}
	},
}

// pair returns a source and a destination of one family.
func (k *dialogue) pair() (src, dst netip.Addr) {
	if k.byte()&1 == 0 {
		return addrO, addrV
	}
	return netip.MustParseAddr("2001:db8::3"), addrY
}

func (k *dialogue) address4() netip.Addr {
	return [...]netip.Addr{addrO, addrV, addrC, netip.MustParseAddr("10.0.0.255"),
		netip.MustParseAddr("127.0.0.1"), netip.IPv4Unspecified()}[k.number(6)]
}

// segment sends a TCP segment. Its numbers are near those that the victim's last segment to this
// port asks for, or far off.
func (k *dialogue) segment() {
	k.listen()
	port := uint16(4000 + k.number(4))
	heard := k.last[port]
	h := wire.TCP{Flags: wire.Flags(k.byte()), Seq: heard.Ack, Ack: heard.Seq,
		Window: uint16(k.byte()) << k.number(9)}
	if heard.Flags&(wire.SYN|wire.FIN) != 0 {
		h.Ack++
	}
	off := [...]int32{0, 0, 0, 1, -1, 100, -100, 1 << 16, -1 << 16, 1 << 31 >> 1, 1000, 3000}
	h.Seq += uint32(off[k.number(len(off))])
	h.Ack += uint32(off[k.number(len(off))])
	if n := k.number(8); n < 3 {
		h.Options = wire.TCPOptions{MSS: uint16(k.byte()) << 4, SACKPermitted: n > 0,
			HasTimestamp: n > 1, TSVal: uint32(k.byte()), TSEcr: heard.Options.TSVal,
			HasWindowScale: n == 1, WindowScale: k.byte()}
	} else if n == 4 {
		h.Options.SACKCount = 1
		h.Options.SACK[0] = wire.SACKBlock{Left: h.Ack + uint32(k.number(64)),
			Right: h.Ack + uint32(k.number(64))*30}
	}
	to := at(addrV, 80)
	if heard.SrcPort != 0 {
		to = at(addrV, int(heard.SrcPort))
	}
	k.tcp(at(addrO, int(port)), to, h, k.bytes(k.number(64))...)
}

// icmp sends an ICMP message of any type with a good checksum, which may quote a packet.
func (k *dialogue) icmp() {
	src, dst := k.pair()
	b := append([]byte{k.byte(), k.byte(), 0, 0, k.byte(), k.byte(), k.byte(), k.byte()},
		k.bytes(k.number(96))...)
	if src.Is4() {
		if k.byte()&1 == 0 { // quote a segment of the victim
			heard := k.last[uint16(4000+k.number(4))]
			q := make([]byte, wire.IPv4Len+wire.TCPLen)
			ip := wire.IPv4{Length: 1000, Protocol: wire.ProtocolTCP, Src: addrV, Dst: addrO}
			t := wire.TCP{SrcPort: heard.SrcPort, DstPort: heard.DstPort, Seq: heard.Seq}
			ip.Put(q)
			t.Put(q[wire.IPv4Len:])
			b = append(b[:8], q...)
		}
		wire.SealICMP(b, 0)
		k.ip(src, dst, wire.ProtocolICMP, b)
		return
	}
	wire.SealICMP(b, wire.PseudoSum(src, dst, wire.ProtocolICMPv6, len(b)))
	k.ip(src, dst, wire.ProtocolICMPv6, b)
}

// dial has a user connect to the attacker or to the victim itself.
func (k *dialogue) dial() {
	to := [...]string{"10.0.0.3:4000", "10.0.0.3:4001", "10.0.0.2:80", "[::1]:80"}[k.number(4)]
	wait := time.Duration(k.byte()) * 100 * time.Millisecond
	network := [...]string{"tcp", "tcp", "udp"}[k.number(3)]
	k.users.Go(func() {
		ctx, cancel := context.WithTimeout(k.t.Context(), wait)
		defer cancel()
		if c, err := k.victim.DialContext(ctx, network, to); err == nil {
			k.add(c)
		}
	})
}

// serve has a user listen at a port, which may be in use, and accept.
func (k *dialogue) serve() {
	address := [...]string{":80", "10.0.0.2:80", ":0"}[k.number(3)]
	l, err := k.victim.Listen("tcp", address)
	if err != nil {
		return
	}
	k.closers = append(k.closers, l)
	k.users.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			k.add(c)
		}
	})
}

// FuzzConversation holds that a stack survives whatever an attacker and users do, and that nothing
// is left when the users have closed all: no goroutine, and no entry of a table.
func FuzzConversation(f *testing.F) {
	f.Add([]byte{18, 0, 12, 0, 0, 2, 255, 8, 0, 0, 7, 0, 0, 0, 16, 255, 8, 0, 0, 7, 20, "text"[0],
		1, 2, 3})
	f.Add([]byte{16, 0, 99, 0, 12, 0, 0, 18, 255, 8, 0, 0, 7, 0, 19, 0, 17, 20, 0, 10})
	f.Add([]byte{18, 16, 2, 50, 0, 14, 10, 19, 0, 10, 14, 50, 20, 0, 9, 21, 0, 14, 9, 15, 100})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		playOut(t, b)
	})
}

func playOut(t *testing.T, b []byte) {
	synctest.Test(t, func(t *testing.T) {
		o := newLoneAttacker(t, func(c *Config) {
			c.Backlog, c.TimeWaits = 2, 3
			if len(b) > 0 && b[0]&1 == 1 {
				c.NoDAD, c.NoAutoconf = false, false
				c.TCP = tcp.Config{KeepAlive: time.Minute, ReceiveBuffer: 3000, SendBuffer: 3000,
					Congestion: tcp.NewReno}
			}
		})
		o.claims(addrO)
		k := &dialogue{script: script{b}, attacker: o, last: map[uint16]wire.TCP{},
			busy: [2]map[net.Conn]bool{{}, {}}}
		for len(k.b) > 0 {
			steps[k.number(len(steps))](k)
		}
		k.listen()
		synctest.Wait()
		for _, l := range k.closers {
			_ = l.Close()
		}
		time.Sleep(time.Minute) // dials have timed out
		for _, c := range slices.Clone(k.conns) {
			_ = c.Close() // a deadline or the peer may have ended it
		}
		k.users.Wait()
		time.Sleep(time.Hour)
		k.segments()
		empty(t, 0, o.victim)
	})
}
