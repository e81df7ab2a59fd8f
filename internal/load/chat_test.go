package load

// Chats: what the engine counts against what the server has done, and that it sees what a
// server does wrong.

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

func chatPlan(addr netip.AddrPort, l manifest.Load) Plan {
	p := plan(manifest.Chat, addr, l)
	p.Sources = LoopbackSources(l.Connections)
	return p
}

// TestChat runs every shape of a chat against a right server, on one thread and on two.
func TestChat(t *testing.T) {
	tests := []manifest.Load{
		{Shape: manifest.Fanout, Connections: 2, SizeBytes: 32, Members: 2},
		{Shape: manifest.Fanout, Connections: 30, SizeBytes: 80, Members: manifest.AllMembers,
			Senders: 3, Pipeline: 8},
		// the last is alone
		{Shape: manifest.Fanout, Connections: 31, SizeBytes: 400, Members: 10, Senders: 2,
			Pipeline: 200},
		{Shape: manifest.Open, Connections: 20, SizeBytes: 100, Members: 20, Senders: 3, Rate: 500},
		{Shape: manifest.Open, Connections: 21, SizeBytes: 100, Members: 7, Rate: 500,
			Gaps: "exponential"},
		{Shape: manifest.Paced, Connections: 12, SizeBytes: 106, Members: 1, Bits: 1e6,
			Pipeline: 10},
		{Shape: manifest.Paced, Connections: 12, SizeBytes: 106, Members: 4, Bits: 1e5},
		{Shape: manifest.Idle, Connections: 200, Members: 50, Interval: 100 * time.Millisecond},
	}
	for _, l := range tests {
		for _, cpus := range [][]int{nil, {0, 0}} {
			t.Run(fmt.Sprintf("%s/%dx%d/%d", l.Shape, l.Connections, l.Members,
				len(cpus)), func(t *testing.T) {
				var s *chatServer
				p := chatPlan(netip.AddrPort{}, l)
				p.CPUs = cpus
				r := runSteady(t, p, func(t testing.TB, p Plan) *Result {
					s = &chatServer{ping: 5}
					p.Addr = startChat(t, s)
					return runPlan(t, p)
				})
				noErrors(t, r)
				checkChat(t, &p, r, s)
			})
		}
	}
}

func checkChat(t *testing.T, p *Plan, r *Result, s *chatServer) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &p.Load
	if l.Shape != manifest.Idle && of(r).Total != int64(len(s.said)) {
		t.Errorf("got %d messages acknowledged or sent, and the server has %d", of(r).Total,
			len(s.said))
	}
	var sum int64
	for _, n := range r.Slices {
		sum += n
	}
	if sum != of(r).Requests || of(r).Requests == 0 {
		t.Errorf("got %d requests and %d in slices", of(r).Requests, sum)
	}
	if talk := l.Members > 1 && l.Shape != manifest.Idle; talk != (of(r).Deliveries > 0) ||
		of(r).Deliveries > int64(s.delivered) {
		t.Errorf("got %d deliveries of %d", of(r).Deliveries, s.delivered)
	}
	if s.pongs == 0 {
		t.Error("the server's PINGs were not answered")
	}
	checkNumbers(t, p, s.said)
	n := of(r)
	if l.Shape == manifest.Open {
		if got := int64(n.Acks.Count()); got != n.Offered || int64(n.Late.Count()) != n.Offered {
			t.Errorf("got %d acknowledgements and %d latenesses of %d messages offered", got,
				n.Late.Count(), n.Offered)
		}
		if got, want := int64(n.Latency.Count()), n.Offered*int64(l.Members-1); got != want {
			t.Errorf("got %d delays, want %d: one for each delivery of %d messages", got, want,
				n.Offered)
		}
	}
	if want := (l.Shape == manifest.Open || l.Shape == manifest.Idle); want != (n.Acks != nil) {
		t.Errorf("got delays of acknowledgements: %v, want %v", n.Acks != nil, want)
	}
}

// checkNumbers holds what the server was told: each sender's messages by number, whole, from
// those who speak.
func checkNumbers(t *testing.T, p *Plan, said []string) {
	t.Helper()
	l := &p.Load
	next := map[int]int{}
	for _, line := range said {
		var nick, id, number int
		var room string
		n, err := fmt.Sscanf(line, ":c%05x!c@127.0.0.1 PRIVMSG %s :%05x %08x ", &nick, &room, &id,
			&number)
		if err != nil || n != 4 || nick != id || number != next[id] ||
			room != fmt.Sprintf("#r%05x", id/min(l.Members, l.Connections)) {
			t.Fatalf("the server was told %q, want message %d of client %x: %v", line, next[id], id,
				err)
		}
		if text := line[strings.Index(line, " :")+2:]; len(text) != l.SizeBytes+2 {
			t.Fatalf("got a text of %d bytes, want %d: %q", len(text)-2, l.SizeBytes, line)
		}
		next[id]++
	}
	var want []int
	for id := range l.Connections {
		members := min(l.Members, l.Connections)
		if l.Shape != manifest.Idle && (l.Senders == 0 || id%members < l.Senders) {
			want = append(want, id)
		}
	}
	if got := slices.Sorted(maps.Keys(next)); l.Shape != manifest.Open && !slices.Equal(got, want) {
		t.Errorf("messages came from %v, want %v", got, want)
	}
}

// TestChatDelay holds the delays against a server that is late by a known time.
func TestChatDelay(t *testing.T) {
	const delay = 20 * time.Millisecond
	quietly(t, "the median delay was the server's and up to 5 ms more", func() bool {
		l := manifest.Load{Shape: manifest.Open, Connections: 10, SizeBytes: 64, Members: 10,
			Senders: 1, Rate: 100}
		p := chatPlan(startChat(t, &chatServer{delay: delay}), l)
		p.Window = 300 * time.Millisecond
		r := runPlan(t, p)
		noErrors(t, r)
		n := of(r)
		got, acks := time.Duration(n.Latency.Quantile(.5)), time.Duration(n.Acks.Quantile(.5))
		if got < delay || acks < delay {
			t.Fatalf("deliveries took %v and acknowledgements %v, less than the server's %v", got,
				acks, delay)
		}
		return got < delay+5*time.Millisecond && acks < delay+5*time.Millisecond
	})
}

// TestChatStall: what is due while a server does nothing counts from when it was due.
func TestChatStall(t *testing.T) {
	const stalled = 200 * time.Millisecond
	var began time.Time
	s := &chatServer{deliver: func(n int, line string) []string {
		if n == 1 {
			began = time.Now()
		}
		if since := time.Since(began); since > 100*time.Millisecond &&
			since < 100*time.Millisecond+stalled {
			time.Sleep(100*time.Millisecond + stalled - since)
		}
		return []string{line}
	}}
	p := chatPlan(startChat(t, s), manifest.Load{Shape: manifest.Open, Connections: 2,
		SizeBytes: 64, Members: 2, Senders: 1, Rate: 1000})
	p.WarmUp, p.Window = 50*time.Millisecond, 400*time.Millisecond
	r := runPlan(t, p)
	noErrors(t, r)
	// Half of the window's messages were due in the stall, evenly: a quarter of all waited for half
	// of it, at least.
	if got := time.Duration(of(r).Latency.Quantile(.75)); got < stalled*4/10 {
		t.Errorf("got a third quartile of %v, want %v about: the stall was left out", got,
			stalled/2)
	}
}

// TestWrongChat holds the engine against servers of which one delivery is wrong.
func TestWrongChat(t *testing.T) {
	at := func(which int, then func(line string) []string) func(int, string) []string {
		return func(n int, line string) []string {
			if n == which {
				return then(line)
			}
			return []string{line}
		}
	}
	var mixed, swapped string
	tests := []struct {
		name   string
		server *chatServer
		kind   string
	}{
		{"loses one", &chatServer{deliver: at(100, func(string) []string { return nil })},
			Undelivered},
		{"doubles one", &chatServer{deliver: at(100,
			func(l string) []string { return []string{l, l} })}, Extra},
		{"tears one", &chatServer{deliver: at(100,
			func(l string) []string { return []string{l[:60] + "\r\n", l[60:]} })}, WrongReply},
		{"cuts the end off", &chatServer{deliver: at(100,
			func(l string) []string { return []string{l[:len(l)-4] + "\r\n"} })}, WrongReply},
		{"changes a letter", &chatServer{deliver: at(100, func(l string) []string {
			return []string{l[:len(l)-5] + "#" + l[len(l)-4:]}
		})}, WrongReply},
		{"mixes two", &chatServer{deliver: func(n int, l string) []string {
			switch n {
			case 100:
				mixed = l
			case 101:
				return []string{l[:70] + mixed[70:]}
			}
			return []string{l}
		}}, WrongReply},
		{"swaps two", &chatServer{deliver: func(n int, l string) []string {
			switch n {
			case 101:
				swapped = l
				return nil
			case 103: // one sender and two listeners: to the same
				return []string{l, swapped}
			}
			return []string{l}
		}}, Extra},
		{"takes the wrong sender", &chatServer{deliver: at(100, func(l string) []string {
			return []string{strings.Replace(l, ":c00000", ":c00002", 1)}
		})}, WrongReply},
		{"takes the wrong room", &chatServer{deliver: at(100, func(l string) []string {
			return []string{strings.Replace(l, "#r00000", "#r00001", 1)}
		})}, WrongReply},
		{"speaks without end", &chatServer{deliver: at(100,
			func(string) []string { return []string{strings.Repeat("x", 70_000)} })}, WrongReply},
		{"says why it ends", &chatServer{deliver: at(100,
			func(string) []string { return []string{"ERROR :you are slow\r\n"} })}, Ended},
		{"refuses one", &chatServer{deliver: at(100, func(string) []string {
			return []string{":test 404 c00001 #r00000 :no\r\n"}
		})}, Refused},
		{"answers what was not asked", &chatServer{deliver: at(100, func(l string) []string {
			return []string{l, ":test PONG test :77777777\r\n"}
		})}, Extra},
		{"knows nobody", &chatServer{greet: func(nick string) string {
			return ":test 433 * " + nick + " :in use\r\n"
		}}, "connect " + Refused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := manifest.Load{Shape: manifest.Fanout, Connections: 3, SizeBytes: 64, Members: 3,
				Senders: 1, Pipeline: 4}
			finds(t, test.kind, func() (*Result, error) {
				server := &chatServer{deliver: test.server.deliver, greet: test.server.greet}
				p := chatPlan(startChat(t, server), l)
				p.Window, p.Drain = 200*time.Millisecond, 0
				return tryPlan(t, p)
			})
		})
	}
}

// TestChatAllocations: nothing is allocated for a message while the window is open.
func TestChatAllocations(t *testing.T) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	p := chatPlan(netip.MustParseAddrPort("127.0.0.1:1"), manifest.Load{Shape: manifest.Fanout,
		Connections: 2, SizeBytes: 64, Members: 2, Senders: 1, Pipeline: 8})
	w, err := newWorker(&shared{parts: 1, stopFD: fd, emit: func(Event) {}, job: newChatJob(&p)},
		&p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.poll.close()
	k := w.driver.(*chat)
	from, to := &w.conns[0], &w.conns[1]
	to.state, w.measuring, w.now = connOpen, true, 1000
	from.issued = 1 << 40
	unit := make([]byte, k.requestBytes())
	var came []byte
	deliver := func() {
		k.fill(from, unit)
		from.sent++
		came = came[:0]
		for line := range strings.Lines(string(unit)) {
			if strings.HasPrefix(line, "PRIVMSG") {
				came = append(append(came, ":c00000!c@127.0.0.1 "...), line...)
			}
		}
	}
	deliver()
	k.lines(to, &k.clients[1], came) // learns how the sender's lines begin
	var pieces [][]byte
	for range 101 {
		deliver()
		pieces = append(pieces, slices.Clone(came))
	}
	before := k.deliveries
	allocated := testing.AllocsPerRun(100, func() {
		k.fill(from, unit)
		k.lines(to, &k.clients[1], pieces[0])
		pieces = pieces[1:]
	})
	if got := k.deliveries - before; got != 808 || len(w.faults.kinds) > 0 {
		t.Errorf("got %d deliveries, want 808; %v %s", got, w.faults.kinds, w.faults.first)
	}
	if allocated != 0 {
		t.Errorf("got %v allocations for eight deliveries, want none", allocated)
	}
}
