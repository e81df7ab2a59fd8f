package gonet

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// The stations of recorded sessions: the one that sends the recorded frames, at 10.0.0.3 and
// 2001:db8::3, and the one that they are for, at 10.0.0.2 and 2001:db8::2.
var (
	macO = wire.MAC{2, 5: 9}
	macV = wire.MAC{2, 5: 2}

	addrO6 = netip.MustParseAddr("2001:db8::3")
)

// A session is what one host has sent to another one, for example from a handshake to the last
// acknowledgement.
type session struct {
	frames []recordedFrame
	// firstAck is the first acknowledgement number that was sent: the initial sequence number of
	// the other host, plus one. Without TCP, or if the other host has refused, it is 0.
	firstAck uint32
}

// A recordedFrame has an Ethernet header, except in sessions for an L3 link.
type recordedFrame struct {
	bytes []byte
	tcp   int // offset of the TCP header; 0: the frame has none
}

// isSYN tells whether a frame asks for a connection.
func (f *recordedFrame) isSYN() bool {
	return f.tcp > 0 && wire.Flags(f.bytes[f.tcp+13])&(wire.SYN|wire.ACK) == wire.SYN
}

// exchanges are what is recorded beside the lifecycles of connections.
var exchanges = []func(t *testing.T, s *Stack){
	func(t *testing.T, s *Stack) { // data over IPv6
		c := dialed(t, s, "[2001:db8::2]:7")
		expectEcho(t, c, 5000)
		closeConns(t, c)
	},
	func(t *testing.T, s *Stack) { // datagrams, whole and in fragments
		for _, to := range []string{"10.0.0.2:53", "[2001:db8::2]:53"} {
			c, err := s.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{0, 100, 4000} {
				expectDatagramEcho(t, c, size)
			}
			closeConns(t, c)
		}
	},
	func(t *testing.T, s *Stack) { // pings, whole and in fragments
		for _, to := range []netip.Addr{addrV, addrY} {
			for _, size := range []int{56, 3000} {
				expectPing(t, s, to, size)
			}
		}
	},
	func(t *testing.T, s *Stack) { // a datagram that nobody takes, at either end
		for _, to := range []string{"10.0.0.2:54", "[2001:db8::2]:54", "10.0.0.2:55",
			"[2001:db8::2]:55"} {
			c, err := s.Dial("udp", to)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("to a closed port, or answered at one")); err != nil {
				t.Error(err)
			}
			closeConns(t, c) // an answer finds no socket, and an ICMP error tells of that
		}
	},
}

// recordSessions has two stacks talk, and returns the frames of the first one. The second one
// has the services of serveAll.
func recordSessions(t *testing.T) (all []session) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		recorder := &tee{End: a}
		x := host6(t, recorder, "3", quiet, func(c *Config) { c.MAC = macO })
		y := host6(t, b, "2", quiet, func(c *Config) { c.MAC = macV })
		servers(t, x) // a lifecycle connects to itself
		serveAll(t, y)
		expectPing(t, x, addrV, 56)
		expectPing(t, x, addrY, 56)
		for _, exchange := range append(lifecycles[:len(lifecycles):len(lifecycles)],
			exchanges...) {
			recorder.take()
			exchange(t, x)
			time.Sleep(time.Second) // the last acknowledgement is on the wire
			synctest.Wait()
			if s := newSession(recorder.take()); len(s.frames) > 0 {
				all = append(all, s)
			}
		}
		empty(t, 0, x, y)
	})
	return all
}

// take returns the frames that were written since the last call.
func (r *tee) take() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

func newSession(frames [][]byte) (s session) {
	for _, b := range frames {
		f := recordedFrame{bytes: b}
		packet := packetOf(b, false)
		at, protocol := transportAt(packet)
		if protocol == wire.ProtocolTCP {
			f.tcp = len(b) - len(packet) + at
			if s.firstAck == 0 && wire.Flags(packet[at+13])&(wire.SYN|wire.ACK) == wire.ACK {
				s.firstAck = binary.BigEndian.Uint32(packet[at+8:])
			}
		}
		s.frames = append(s.frames, f)
	}
	return s
}

// withoutEthernet returns the session as an L3 link has it.
func (s session) withoutEthernet() session {
	bare := session{firstAck: s.firstAck}
	for _, f := range s.frames {
		packet := packetOf(f.bytes, false)
		if packet == nil {
			continue
		}
		f.tcp = max(0, f.tcp-(len(f.bytes)-len(packet)))
		f.bytes = packet
		bare.frames = append(bare.frames, f)
	}
	return bare
}

// transportAt returns the protocol of an IP packet and the offset of its header. It returns 0 for a
// fragment, and for a packet whose IP header is not of the usual length.
func transportAt(b []byte) (at int, protocol wire.Protocol) {
	switch {
	case len(b) > wire.IPv4Len && b[0] == 0x45 && binary.BigEndian.Uint16(b[6:])&0x3fff == 0:
		return wire.IPv4Len, wire.Protocol(b[9])
	case len(b) > wire.IPv6Len && b[0]>>4 == 6:
		return wire.IPv6Len, wire.Protocol(b[6])
	}
	return 0, 0
}

// serveAll starts the servers of lifecycles and exchanges: those of TCP, an echo of datagrams
// at port 53, and one at 55 that answers late, when the client has gone.
func serveAll(t *testing.T, s *Stack) {
	t.Helper()
	servers(t, s)
	for port, late := range map[string]time.Duration{":53": 0, ":55": 100 * time.Millisecond} {
		c, err := s.ListenPacket("udp", port)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			b := make([]byte, 65536)
			for {
				n, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				time.Sleep(late)
				_, _ = c.WriteTo(b[:n], from) // the client checks
			}
		}()
	}
}

// expectDatagramEcho sends a datagram and checks that it comes back.
func expectDatagramEcho(t *testing.T, c net.Conn, size int) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("datagram"), size/8+1)[:size]
	if _, err := c.Write(want); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, size+1)
	if n, err := c.Read(got); err != nil || !bytes.Equal(got[:n], want) {
		t.Errorf("a datagram of %d bytes: %d come back, %v", size, n, err)
	}
}

// TestRecordedSessions holds that the recording has each kind of packet that mutants are made of.
func TestRecordedSessions(t *testing.T) {
	have := map[string]int{}
	for _, s := range recordSessions(t) {
		for _, f := range s.frames {
			packet := packetOf(f.bytes, false)
			if packet == nil {
				continue
			}
			family := map[byte]string{4: " over IPv4", 6: " over IPv6"}[packet[0]>>4]
			at, protocol := transportAt(packet)
			switch {
			case at == 0:
				if h, _, err := wire.ParseIPv4(packet); err == nil && h.IsFragment() {
					have["fragment over IPv4"]++
				}
			case protocol != wire.ProtocolTCP:
				have[protocol.String()+family]++
			default:
				h, data, err := wire.ParseTCP(packet[at:])
				if err != nil {
					t.Fatal(err)
				}
				for flag, name := range map[wire.Flags]string{wire.SYN: "SYN", wire.FIN: "FIN",
					wire.RST: "RST", wire.ACK: "ACK"} {
					if h.Flags&flag != 0 {
						have[name+family]++
					}
				}
				if len(data) > 0 {
					have["data"+family]++
				}
				if h.Flags&(wire.ACK|wire.RST) == wire.ACK && s.firstAck == 0 {
					t.Errorf("a session has no first acknowledgement, but %+v", h)
				}
			}
		}
	}
	for _, kind := range []string{"fragment over IPv4", "fragment over IPv6", "icmp over IPv4",
		"icmpv6 over IPv6", "udp over IPv4", "udp over IPv6", "SYN over IPv4", "SYN over IPv6",
		"ACK over IPv4", "ACK over IPv6", "FIN over IPv4", "FIN over IPv6", "RST over IPv4",
		"data over IPv4", "data over IPv6"} {
		if have[kind] == 0 {
			t.Errorf("no %s was recorded, but %v", kind, have)
		}
	}
}
