package dhcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/wire"
)

var (
	ours    = wire.MAC{2, 0, 0, 0, 0, 1}
	theirs  = wire.MAC{2, 0, 0, 0, 0, 9}
	address = netip.MustParseAddr("192.168.7.20")
	server  = netip.MustParseAddr("192.168.7.1")
)

// serverHost is a server at the other end of a link, whose fields say how it answers. It notes each
// message that arrives, with its instant and whether it was broadcast.
type serverHost struct {
	t     *testing.T
	wire  *link.End
	start time.Time

	mu    sync.Mutex
	log   []string
	offer netip.Addr
	time  time.Duration
	extra []Option
	// the answer to the nth message of a type; 0: none. nil: OFFER and ACK
	answer func(Type, int) Type
	owned  netip.Addr // an address that another station has
	count  map[Type]int
}

func (s *serverHost) run() {
	batch := make([]link.Frame, 8)
	for {
		n, err := s.wire.Read(batch)
		if err != nil {
			return
		}
		for _, f := range batch[:n] {
			s.frame(f.Data)
		}
	}
}

func (s *serverHost) note(format string, args ...any) {
	at := time.Since(s.start).Round(time.Second) / time.Second
	s.log = append(s.log, fmt.Sprintf("%d ", at)+fmt.Sprintf(format, args...))
}

func (s *serverHost) frame(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, b, err := wire.ParseEthernet(b)
	if err != nil {
		s.t.Error(err)
		return
	}
	if e.Type == wire.EtherARP {
		s.arp(b)
		return
	}
	ip, b, err := wire.ParseIPv4(b)
	if err != nil {
		s.t.Error(err)
		return
	}
	udp, body, err := wire.ParseUDP(b)
	if err != nil || udp.SrcPort != ClientPort || udp.DstPort != ServerPort ||
		wire.Sum(b, wire.PseudoSum(ip.Src, ip.Dst, wire.ProtocolUDP, len(b))) != 0xffff {
		s.t.Errorf("%v, %+v, or its checksum", err, udp)
		return
	}
	m, err := Parse(body)
	if err != nil || m.Reply || m.MAC != ours {
		s.t.Errorf("%+v, %v", m, err)
		return
	}
	where := "all"
	if e.Dst == theirs && ip.Dst == server {
		where = "server"
	} else if e.Dst != wire.Broadcast || ip.Dst.String() != "255.255.255.255" {
		s.t.Errorf("%v went to %v, %v", m.Type(), e.Dst, ip.Dst)
	}
	s.note("%v to %s", m.Type(), where)
	s.reply(&m)
}

func (s *serverHost) reply(m *Message) {
	says := map[Type]Type{Discover: Offer, Request: Ack}[m.Type()]
	if s.answer != nil {
		says = s.answer(m.Type(), s.count[m.Type()])
	}
	s.count[m.Type()]++
	if says == 0 {
		return
	}
	out := Message{Reply: true, XID: m.XID, MAC: m.MAC, Yours: s.offer}
	out.Set(OptionType, byte(says))
	out.SetAddr(OptionServer, server)
	if says != Nak {
		out.Set(OptionMask, 255, 255, 255, 0)
		out.SetAddr(OptionRouter, server)
		out.SetTime(OptionTime, s.time)
		out.Options = append(out.Options, s.extra...)
	}
	if m.Type() == Request && m.Client.IsUnspecified() {
		// A request for the previous lease names no server (RFC 2131 section 4.3.2).
		if asked := m.Addr(OptionRequested); asked != s.offer || s.count[Discover] > 0 &&
			m.Addr(OptionServer) != server || s.count[Discover] == 0 && m.Get(OptionServer) != nil {
			s.t.Errorf("%v was requested of %v", asked, m.Addr(OptionServer))
		}
	}
	s.send(&out)
}

// send builds the frame of a message by the client's own code, and then swaps the ports.
func (s *serverHost) send(m *Message) {
	c := Client{cfg: Config{MAC: theirs}}
	b := c.frame(Packet{Message: m})
	// the sum stays the same
	b[wire.EthernetLen+wire.IPv4Len+1], b[wire.EthernetLen+wire.IPv4Len+3] = ServerPort, ClientPort
	copy(b, m.MAC[:])
	if err := s.wire.Write(link.GSO{}, b); err != nil && !errors.Is(err, link.ErrClosed) {
		s.t.Error(err)
	}
}

func (s *serverHost) arp(b []byte) {
	m, err := wire.ParseARP(b)
	if err != nil {
		s.t.Error(err)
		return
	}
	if m.SenderIP.IsUnspecified() {
		s.note("probe %v", m.TargetIP)
	} else {
		s.note("announce %v", m.SenderIP)
	}
	if m.TargetIP != s.owned {
		return
	}
	reply := wire.ARP{Op: wire.ARPReply, SenderMAC: theirs, SenderIP: m.TargetIP,
		TargetMAC: m.SenderMAC, TargetIP: m.SenderIP}
	e := wire.Ethernet{Dst: m.SenderMAC, Src: theirs, Type: wire.EtherARP}
	out := make([]byte, wire.EthernetLen+wire.ARPLen)
	reply.Put(out[e.Put(out):])
	if err := s.wire.Write(link.GSO{}, out); err != nil {
		s.t.Error(err)
	}
}

// said returns the conversation so far, a line for each message.
func (s *serverHost) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n")
}

func (s *serverHost) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// with runs f against a server, in fake time.
func with(t *testing.T, f func(t *testing.T, l link.Link, s *serverHost)) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pair()
		s := &serverHost{t: t, wire: b, start: time.Now(), offer: address, time: time.Hour,
			count: map[Type]int{}}
		go s.run()
		f(t, a, s)
		_, _ = a.Close(), b.Close() // never fail
	})
}

// pump reads a client's link as a stack would, until it is closed.
func pump(c *Client) {
	batch := make([]link.Frame, 8)
	for {
		if _, err := c.Read(batch); err != nil {
			return
		}
	}
}

func acquire(t *testing.T, l link.Link) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c, err := Acquire(ctx, l, Config{MAC: ours, Host: "trial", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func holdSaid(t *testing.T, s *serverHost, want ...string) {
	t.Helper()
	if got := s.said(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// taken returns what a client sends when all goes well, from an instant on.
func taken(at int) []string {
	return []string{fmt.Sprintf("%d DISCOVER to all", at), fmt.Sprintf("%d REQUEST to all", at),
		fmt.Sprintf("%d probe 192.168.7.20", at), fmt.Sprintf("%d probe 192.168.7.20", at),
		fmt.Sprintf("%d probe 192.168.7.20", at)}
}

func TestLeaseRenewedForDays(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.extra = []Option{{OptionDNS, []byte{9, 9, 9, 9, 192, 168, 7, 1}},
			{OptionDomain, []byte("lan")}}
		c := acquire(t, l)
		go pump(c)
		got := c.Lease()
		if got.Address != netip.PrefixFrom(address, 24) || got.Router != server ||
			got.Server != server || got.Domain != "lan" ||
			!slices.Equal(got.DNS, []netip.Addr{netip.MustParseAddr("9.9.9.9"), server}) ||
			time.Until(got.Expires).Round(time.Minute) != time.Hour {
			t.Errorf("%+v", got)
		}
		synctest.Wait()
		holdSaid(t, s, append(taken(0), "1 announce 192.168.7.20")...)
		s.set(func() { s.log = nil })
		time.Sleep(48 * time.Hour)
		want := make([]string, 0, 96)
		for i := range 96 {
			want = append(want, fmt.Sprintf("%d REQUEST to server", 1800*(i+1)))
		}
		if got := strings.Split(s.said(), "\n"); len(got) < 95 ||
			!slices.Equal(got[:95], want[:95]) {
			t.Errorf("%d renewals, want 95 or 96 at each half hour:\n%s", len(got), s.said())
		}
		select {
		case <-c.Lost():
			t.Error("the lease is lost")
		default:
		}
		if err := c.Release(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !strings.HasSuffix(s.said(), "RELEASE to server") {
			t.Errorf("no release:\n%s", s.said())
		}
	})
}

// TestLostPackets leaves the first two messages of each type unanswered.
func TestLostPackets(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.answer = func(said Type, n int) Type {
			if n < 2 {
				return 0
			}
			return map[Type]Type{Discover: Offer, Request: Ack}[said]
		}
		acquire(t, l)
		var said []string
		for line := range strings.Lines(s.said()) {
			said = append(said, strings.Fields(line)[1])
		}
		want := strings.Fields("DISCOVER DISCOVER DISCOVER REQUEST REQUEST REQUEST probe probe " +
			"probe")
		if len(said) < 9 || !slices.Equal(said[:9], want) {
			t.Errorf("got %v", said)
		}
		// twice 4 and 8 s, each plus or minus one
		if d := time.Since(s.start); d < 20*time.Second || d > 30*time.Second {
			t.Errorf("after %v", d)
		}
	})
}

func TestNobodyAnswers(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.answer = func(Type, int) Type { return 0 }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := Acquire(ctx, l, Config{MAC: ours, Seed: 1})
		if !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "SELECTING") {
			t.Errorf("%v", err)
		}
		if n := strings.Count(s.said(), "DISCOVER"); n != 4 { // at 0, 4, 12, 28 and then 60 s
			t.Errorf("%d times:\n%s", n, s.said())
		}
		time.Sleep(time.Hour)
		if n := strings.Count(s.said(), "DISCOVER"); n != 4 {
			t.Error("it went on after its context had ended")
		}
	})
}

func TestNoToTheFirstRequest(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.answer = func(said Type, n int) Type {
			if said == Request && n == 0 {
				return Nak
			}
			return map[Type]Type{Discover: Offer, Request: Ack}[said]
		}
		acquire(t, l)
		if got, want := s.said(), "0 DISCOVER to all\n0 REQUEST to all\n"+
			strings.Join(taken(1), "\n"); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%s", got)
		}
	})
}

// TestRequestUnanswered holds that the client starts again after four unanswered requests.
func TestRequestUnanswered(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.answer = func(said Type, n int) Type {
			if said == Request && n < 4 {
				return 0
			}
			return map[Type]Type{Discover: Offer, Request: Ack}[said]
		}
		acquire(t, l)
		if n, m := strings.Count(s.said(), "DISCOVER"), strings.Count(s.said(),
			"REQUEST"); n != 2 || m != 5 {
			t.Errorf("%d and %d:\n%s", n, m, s.said())
		}
	})
}

// TestRebind has the server of the lease fall silent, and answer again only after T2.
func TestRebind(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		c := acquire(t, l)
		go pump(c)
		synctest.Wait() // the announcement has arrived
		s.set(func() { s.log, s.answer = nil, func(Type, int) Type { return 0 } })
		time.Sleep(time.Hour*7/8 + time.Minute)
		said := strings.Split(s.said(), "\n")
		if said[0] != "1800 REQUEST to server" || said[len(said)-1] != "3150 REQUEST to all" ||
			len(said) > 10 {
			t.Errorf("%d:\n%s", len(said), s.said())
		}
		for _, line := range said[:len(said)-1] {
			if !strings.HasSuffix(line, "to server") {
				t.Errorf("before T2: %s", line)
			}
		}
		s.set(func() { s.answer = nil })
		time.Sleep(7 * time.Minute)
		if l := c.Lease(); time.Until(l.Expires) < 20*time.Minute {
			t.Errorf("it was not rebound: %v\n%s", time.Until(l.Expires), s.said())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLost ends a lease that is in use in each possible way.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*serverHost)
		at     time.Duration
	}{
		{"the server is silent",
			func(s *serverHost) { s.answer = func(Type, int) Type { return 0 } }, time.Hour},
		{"the server says no", func(s *serverHost) {
			s.answer = func(Type, int) Type { return Nak }
		}, 30 * time.Minute},
		{"the server gives another", func(s *serverHost) { s.offer = address.Next() },
			30 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			with(t, func(t *testing.T, l link.Link, s *serverHost) {
				client := acquire(t, l)
				go pump(client)
				s.set(func() { c.change(s) })
				<-client.Lost()
				if d := time.Since(s.start); d.Round(time.Second) != c.at {
					t.Errorf("after %v, want %v:\n%s", d, c.at, s.said())
				}
				before := s.said()
				time.Sleep(time.Hour)
				if s.said() != before {
					t.Errorf("it went on:\n%s", s.said())
				}
			})
		})
	}
}

// TestDecline has another station own the first offered address.
func TestDecline(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.owned = address
		s.answer = func(said Type, n int) Type {
			if said == Decline {
				s.offer = address.Next()
			}
			return map[Type]Type{Discover: Offer, Request: Ack}[said]
		}
		c := acquire(t, l)
		if got := c.Lease().Address.Addr(); got != address.Next() {
			t.Errorf("it took %v", got)
		}
		want := "0 DISCOVER to all\n0 REQUEST to all\n0 probe 192.168.7.20\n0 DECLINE to all\n" +
			"10 DISCOVER to all\n10 REQUEST to all\n10 probe 192.168.7.21\n"
		if got := s.said(); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%s", got)
		}
	})
}

// TestForever has a lease that does not end: nothing is sent after it is bound.
func TestForever(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		s.time = Forever
		c := acquire(t, l)
		go pump(c)
		synctest.Wait()
		before := s.said()
		time.Sleep(1000 * time.Hour)
		if s.said() != before || !c.Lease().Expires.IsZero() {
			t.Errorf("%+v\n%s", c.Lease(), s.said())
		}
	})
}

// TestOtherFramesPass holds that the stack above gets the frames that are not for the client.
func TestOtherFramesPass(t *testing.T) {
	with(t, func(t *testing.T, l link.Link, s *serverHost) {
		c := acquire(t, l)
		frame := append(append(append([]byte{}, ours[:]...), theirs[:]...), 0x08, 0x00, 'x')
		stray := Message{Reply: true, XID: 1, MAC: ours, Yours: address}
		stray.Set(OptionType, byte(Nak))
		s.send(&stray)
		if err := s.wire.Write(link.GSO{}, frame); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		batch := make([]link.Frame, 8)
		var got []string
		for range 3 { // an Interrupt for Acquire may be left
			n, err := c.Read(batch)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range batch[:n] {
				got = append(got, string(f.Data))
			}
			if n > 0 {
				break
			}
		}
		if !slices.Equal(got, []string{string(frame)}) {
			t.Errorf("%q", got)
		}
	})
}

// TestL3HasNoDHCP holds that a link without Ethernet is refused: clients are known by their MAC.
func TestL3HasNoDHCP(t *testing.T) {
	l, _ := link.Pair(link.L3())
	if c, err := Acquire(t.Context(), l, Config{MAC: ours}); err == nil {
		t.Errorf("%v was acquired", c.Lease())
	}
}
