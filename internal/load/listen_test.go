package load

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"interleave/internal/manifest"
)

func TestParseLine(t *testing.T) {
	tests := []struct{ line, nick, command, first, last string }{
		{"", "", "", "", ""},
		{"PING :a b", "", "PING", "a b", "a b"},
		{"PING x", "", "PING", "x", "x"},
		{":chat PONG chat :x", "chat", "PONG", "chat", "x"},
		{":ann!~a@h PRIVMSG #tea :a :b  c ", "ann", "PRIVMSG", "#tea", "a :b  c "},
		{"@time=1 :ann!a@h  PRIVMSG  #tea  x", "ann", "PRIVMSG", "#tea", "x"},
		{":ann", "ann", "", "", ""},
		{":", "", "", "", ""},
		{"@", "", "", "", ""},
		{"422 :", "", "422", "", ""},
	}
	for _, test := range tests {
		l := parseLine([]byte(test.line))
		if string(l.nick) != test.nick || string(l.command) != test.command ||
			string(l.first) != test.first || string(l.last) != test.last {
			t.Errorf("%q: got %q", test.line, l)
		}
	}
}

func TestHex8(t *testing.T) {
	for _, n := range []uint32{0, 1, 9, 10, 15, 16, 0x12345678, 0x9abcdef0, 0xffffffff} {
		if got, ok := hex8(fmt.Appendf(nil, "%08x", n)); !ok || got != n {
			t.Errorf("%08x: got %08x, %v", n, got, ok)
		}
	}
	for b := range 256 {
		p := []byte("00000000")
		p[3] = byte(b)
		_, got := hex8(p)
		if want := bytes.IndexByte([]byte(hexDigits), byte(b)) >= 0; got != want {
			t.Errorf("byte %#x is a digit: got %v, want %v", b, got, want)
		}
	}
}

// listener is a thread with one client that has no connection: a room of three, of whom two speak.
func listener(t testing.TB) *chat {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	p := chatPlan(netip.MustParseAddrPort("127.0.0.1:1"), manifest.Load{Shape: manifest.Fanout,
		Connections: 3, SizeBytes: 32, Members: 3, Senders: 2})
	w, err := newWorker(&shared{parts: 1, stopFD: fd, emit: func(Event) {}, job: newChatJob(&p)},
		&p, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.poll.close()
	k := w.driver.(*chat)
	k.conns[2].state, k.measuring, k.stage, k.phase = connOpen, true, stageWindow, phaseLoad
	k.conns[2].issued = 2
	return k
}

// feed gives a client what a read would, in pieces.
func (k *chat) feed(pieces ...[]byte) {
	c, g := &k.conns[2], &k.clients[2]
	for _, p := range pieces {
		if c.state != connOpen {
			return
		}
		g.carry = append(g.carry[:0], k.lines(c, g, slices.Concat(g.carry, p))...)
	}
}

// FuzzLines: what a server sends, however wrong, is taken alike whole and in pieces.
func FuzzLines(f *testing.F) {
	said := func(nick, id, number int) string {
		return fmt.Sprintf(":c%05x!c@127.0.0.1 PRIVMSG #r00000 :%s\r\n", nick,
			appendText(nil, uint64(id), uint64(number), 77, 32))
	}
	for _, s := range []string{
		said(0, 0, 0) + said(1, 1, 0) + said(0, 0, 1), said(0, 0, 1) + said(0, 0, 0), said(2, 2, 0),
		said(0, 1, 0),
		"PING :x\r\n:s PONG s :00000000\r\n:s PONG s :00000001\r\n", "ERROR :no\r\n",
		":s 404 c #r00000 :no\n", "\r\n\n:\n@\n", ":c", ":s PONG\n",
	} {
		f.Add([]byte(s), 7)
	}
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		if len(p) > lineMost/2 {
			return // a line that is too long is found at the end of a read
		}
		whole, pieces := listener(t), listener(t)
		whole.feed(p)
		var parts [][]byte
		for i, step := 0, max(1, cut%97); i < len(p); i += step {
			parts = append(parts, p[i:min(len(p), i+step)])
		}
		pieces.feed(parts...)
		if a, b := whole.deliveries, pieces.deliveries; a != b {
			t.Errorf("got %d deliveries whole and %d in pieces", a, b)
		}
		if !maps.Equal(whole.faults.kinds, pieces.faults.kinds) ||
			whole.faults.first != pieces.faults.first {
			t.Errorf("got %v %s whole and %v %s in pieces", whole.faults.kinds, whole.faults.first,
				pieces.faults.kinds, pieces.faults.first)
		}
		if a, b := whole.clients[2].next, pieces.clients[2].next; !slices.Equal(a, b) {
			t.Errorf("got %v whole and %v in pieces", a, b)
		}
		if n := strings.Count(string(p), "\n"); int(whole.deliveries) > n {
			t.Errorf("got %d deliveries of %d lines", whole.deliveries, n)
		}
	})
}

// BenchmarkDelivery is what a delivery costs the engine, besides its part of a read.
func BenchmarkDelivery(b *testing.B) {
	const each = 512
	w := listener(b)
	w.measuring = false
	var p []byte
	for i := range each {
		p = fmt.Appendf(p, ":c00000!c@127.0.0.1 PRIVMSG #r00000 :%s\r\n",
			appendText(nil, 0, uint64(i), 77, 32))
	}
	b.SetBytes(int64(len(p) / each))
	for b.Loop() {
		w.clients[2].next[0] = 0
		w.lines(&w.conns[2], &w.clients[2], p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/each, "ns/delivery")
	if len(w.faults.kinds) > 0 {
		b.Fatal(w.faults.first)
	}
}
