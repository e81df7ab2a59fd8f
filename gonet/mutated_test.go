package gonet

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// mutants is how many mutated packets TestMutatedSessions sends:
//
//	go test ./gonet -run MutatedSessions -timeout 4h -args -mutants=100000000
var mutants = flag.Int("mutants", 100_000, "how many mutated packets TestMutatedSessions sends")

// seedOfMutants is the seed of all that is chosen at random.
const seedOfMutants = 1

// mutantsAtOnce is how many mutants come before all connections of theirs end, and memory is
// measured.
const mutantsAtOnce = 20_000

// TestMutatedSessions plays recorded sessions to a stack that serves, with mutated packets among
// those that were recorded. Another host has a connection with the stack all the time, and opens
// new ones. After each part the connections of the player, which has fallen silent, time out: no
// memory and no goroutine is left.
func TestMutatedSessions(t *testing.T) {
	sessions := recordSessions(t)
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			p, client := newPlayer(t, sessions, options...)
			c := dialed(t, client, "10.0.0.2:7")
			round := func(n int) {
				for p.sent = 0; p.sent < n; {
					p.play(t, p.sessions[p.random.IntN(len(p.sessions))])
				}
				expectStillServed(t, client, c)
				time.Sleep(20 * time.Minute) // as in empty: the player's connections have ended
			}
			n := fewer(*mutants, 8) / 2 // of each wire
			round(min(n, mutantsAtOnce/4))
			growth := newGrowth(t)
			for n > 0 {
				round(min(n, mutantsAtOnce))
				growth.measure()
				n -= mutantsAtOnce
			}
			closeConns(t, c)
			empty(t, seedOfMutants, p.to, client)
			if n := p.far.Dropped(); n > 0 || p.answered < p.asked/2 {
				t.Errorf("%d packets did not arrive; of %d SYNs %d were answered", n, p.asked,
					p.answered)
			}
			// The neighbours of forged addresses, of which the cache keeps a bounded number, and
			// what the runtime keeps: partly used spans, and the stopped timers of fake time.
			growth.within(4<<20, 0)
		})
	})
}

// expectStillServed has a client use its connection, and a new one of each family.
func expectStillServed(t *testing.T, client *Stack, c net.Conn) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	expectEcho(t, c, 2000)
	for _, to := range []string{"10.0.0.2:7", "[2001:db8::2]:7"} {
		another := dialed(t, client, to)
		expectEcho(t, another, 1000)
		closeConns(t, another)
	}
}

// A player plays sessions to a stack. It is behind the link of the client, and sees what the client
// sees.
type player struct {
	mutator
	sessions []session
	to       *Stack
	end, far *link.End
	port     uint16 // of the session that is played
	packet   []byte // memory for play
	sent     int    // mutants
	asked    int    // connections, by a SYN that was recorded
	answered int    // of those

	mu     sync.Mutex
	heard  uint16 // the port to which the last SYN-ACK was sent
	number uint32 // its sequence number
}

// newPlayer makes a victim that serves, a client on the same wire, and a player.
func newPlayer(t *testing.T, sessions []session, options ...link.Option) (*player, *Stack) {
	t.Helper()
	a, b := link.Pair(options...)
	p := &player{mutator: mutator{random: rand.New(rand.NewPCG(seedOfMutants, 0))}, end: a,
		far: b, sessions: sessions}
	l3 := a.Features().L3
	mac := macV
	if l3 {
		p.sessions, mac = nil, wire.MAC{}
		for _, s := range sessions {
			if bare := s.withoutEthernet(); len(bare.frames) > 0 {
				p.sessions = append(p.sessions, bare)
			}
		}
	}
	p.header = a.Features().HeaderLen()
	client := host6(t, watcher{a, p.see}, "1", quiet)
	p.to = host6(t, b, "2", quiet, func(c *Config) { c.MAC = mac })
	serveAll(t, p.to)
	if l3 {
		return p, client
	}
	for _, at := range []netip.Addr{addrO, addrO6} {
		p.to.pinStation(at, macO)
	}
	// A mutant may claim an address of the client or of the victim, which nothing can prevent on a
	// wire with Ethernet. Theirs are known for good.
	for _, at := range []netip.Addr{addrC, addrX} {
		p.to.pinStation(at, client.MAC())
	}
	for _, at := range []netip.Addr{addrV, addrY} {
		client.pinStation(at, macV)
	}
	return p, client
}

// A watcher is a link that shows each frame to a function before its reader gets it.
type watcher struct {
	*link.End
	see func(frame []byte)
}

func (w watcher) Read(batch []link.Frame) (int, error) {
	n, err := w.End.Read(batch)
	for _, f := range batch[:n] {
		w.see(f.Data)
	}
	return n, err
}

// see stores the sequence number of a SYN-ACK.
func (p *player) see(frame []byte) {
	if len(frame) < p.header {
		return
	}
	b := frame[p.header:]
	at, protocol := transportAt(b)
	if protocol != wire.ProtocolTCP || len(b) < at+wire.TCPLen ||
		wire.Flags(b[at+13])&(wire.SYN|wire.ACK) != wire.SYN|wire.ACK {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = binary.BigEndian.Uint16(b[at+2:])
	p.number = binary.BigEndian.Uint32(b[at+4:])
}

// mostMutants is how many mutants of a packet are sent at most.
const mostMutants = 5

// play plays a session as it was recorded, up to a random packet. From there on, mutants go before
// each packet, and now and then in its place. The ports and acknowledgement numbers of TCP are
// adapted, so that the session gets as far as it did when it was recorded.
func (p *player) play(t *testing.T, s session) {
	t.Helper()
	p.port++
	if p.port < 1024 {
		p.port = 1024
	}
	start := p.random.IntN(len(s.frames))
	shift := uint32(0)
	synctest.Wait() // the last session's packets have left the queue
	for i := range s.frames {
		f := &s.frames[i]
		b := append(p.packet[:0], f.bytes...)
		p.packet = b
		if f.tcp > 0 {
			p.adapt(b, f.tcp, shift)
		}
		whole := true
		if i >= start {
			for range 1 + p.random.IntN(mostMutants) {
				p.write(t, p.mutate(b, s.frames[p.random.IntN(len(s.frames))].bytes))
				p.sent++
			}
			whole = p.random.IntN(8) > 0
		}
		if whole {
			p.write(t, b)
		}
		if f.isSYN() {
			synctest.Wait()
			p.asked++
			p.mu.Lock()
			if p.heard == p.port {
				p.answered++
				shift = p.number + 1 - s.firstAck
			}
			p.mu.Unlock()
		}
	}
}

// adapt gives a segment the port of the session, and shifts its acknowledgement number.
func (p *player) adapt(b []byte, at int, shift uint32) {
	h := b[at:]
	binary.BigEndian.PutUint16(h, p.port)
	if wire.Flags(h[13])&wire.ACK != 0 {
		binary.BigEndian.PutUint32(h[8:], binary.BigEndian.Uint32(h[8:])+shift)
	}
	sealTransport(b[p.header:])
}

func (p *player) write(t *testing.T, b []byte) {
	t.Helper()
	if err := p.end.Write(link.GSO{}, b); err != nil {
		t.Fatal(err)
	}
}
