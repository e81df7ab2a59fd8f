package servers_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A nameServer answers questions on a port of loopback, by UDP and TCP. Its replies are made by
// hand, so they may break every rule.
type nameServer struct {
	at    string
	asked atomic.Int32 // questions by UDP
}

// A question of a message, and the message itself.
type question struct {
	message []byte
	name    string
	kind    uint16
	end     int // of the question section
	tcp     bool
}

// wireName is a name in the form of messages.
func wireName(name string) string {
	out := ""
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label != "" {
			out += string(rune(len(label))) + label
		}
	}
	return out + "\x00"
}

func bigEndian(n, size int) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	return string(b[8-size:])
}

// entry is a record: its name is in the form of messages, "\xc0\x0c" that of the question.
func entry(name string, kind int, life int, data string) string {
	return name + bigEndian(kind, 2) + bigEndian(1, 2) + bigEndian(life, 4) +
		bigEndian(len(data), 2) + data
}

const sameName = "\xc0\x0c" // leads to the name of the question

// reply is the question's message with flags and records.
func (q question) reply(flags int, records ...string) []byte {
	m := append([]byte{}, q.message[:q.end]...)
	binary.BigEndian.PutUint16(m[2:], uint16(0x8080|flags))
	binary.BigEndian.PutUint16(m[6:], uint16(len(records)))
	binary.BigEndian.PutUint16(m[8:], 0)
	binary.BigEndian.PutUint16(m[10:], 0)
	for _, r := range records {
		m = append(m, r...)
	}
	return m
}

// readQuestion reads the only question of a message.
func readQuestion(m []byte) (q question, ok bool) {
	if len(m) < 12 {
		return q, false
	}
	at, labels := 12, []string{}
	for at < len(m) && m[at] != 0 {
		end := at + 1 + int(m[at])
		if end >= len(m) {
			return q, false
		}
		labels = append(labels, string(m[at+1:end]))
		at = end
	}
	if at+5 > len(m) {
		return q, false
	}
	return question{message: m, name: strings.Join(labels, "."),
		kind: binary.BigEndian.Uint16(m[at+1:]), end: at + 5}, true
}

// bothPorts opens one port for UDP and TCP.
func bothPorts(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 100 {
		u, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", u.LocalAddr().String())
		if err != nil { // another socket of this machine has the port
			u.Close()
			continue
		}
		t.Cleanup(func() { u.Close(); l.Close() })
		return u, l
	}
	t.Fatal("no port is free for UDP and TCP")
	return nil, nil
}

// startNames starts a server whose replies `answer` makes; nil is none.
func startNames(t *testing.T, answer func(question) []byte) *nameServer {
	t.Helper()
	u, l := bothPorts(t)
	s := &nameServer{at: u.LocalAddr().String()}
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			s.asked.Add(1)
			if q, ok := readQuestion(b[:n]); ok {
				if r := answer(q); r != nil {
					_, _ = u.WriteTo(r, from)
				}
			}
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveNames(c, answer)
		}
	}()
	return s
}

func serveNames(c net.Conn, answer func(question) []byte) {
	defer c.Close()
	var size [2]byte
	for {
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		m := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, m); err != nil {
			return
		}
		q, ok := readQuestion(m)
		q.tcp = true
		if r := answer(q); ok && r != nil {
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(r))), r...))
		}
	}
}

// asks runs the program with these questions, and returns what it prints.
func asks(t *testing.T, servers string, questions ...string) string {
	t.Helper()
	p := startWith(t, append([]string{example(t, "dns"), servers}, questions...))
	p.mustExit(0)
	return p.out.String()
}

// zone answers as a good server does.
func zone(q question) []byte {
	host := wireName("mail.example.org")
	long := strings.Repeat("y", 255)
	switch fmt.Sprint(q.kind, " ", strings.ToLower(q.name)) {
	case "15 example.org":
		return q.reply(0, entry(sameName, 15, 300, bigEndian(10, 2)+"\x04mail"+sameName),
			entry(sameName, 15, 300, bigEndian(20, 2)+wireName("backup.example.net")))
	case "16 example.org":
		return q.reply(0, entry(sameName, 16, 1<<31-1, "\x05v=one\x04 two"),
			entry(sameName, 16, 0, "\x00"),
			entry(sameName, 16, 5, "\x02\x00\xff"))
	case "16 long.example.org": // too long for UDP
		if !q.tcp {
			return q.reply(0x200)
		}
		return q.reply(0, entry(sameName, 16, 5, strings.Repeat("\xff"+long, 20)))
	case "33 _irc._tcp.example.org":
		return q.reply(0, entry(sameName, 33, 60,
			bigEndian(1, 2)+bigEndian(2, 2)+bigEndian(6667, 2)+host))
	case "12 1.2.0.192.in-addr.arpa":
		return q.reply(0, entry(sameName, 12, 60, host))
	case "5 www.example.org":
		return q.reply(0, entry(sameName, 5, 60, wireName("example.org")))
	case "2 example.org":
		return q.reply(0, entry(sameName, 2, 60, wireName("ns1.example.org")),
			entry(sameName, 2, 60, "\x03n.s\x00"))
	case "15 www.example.org": // an alias, and what a liar would add
		return q.reply(0, entry(sameName, 5, 60, wireName("EXAMPLE.org")),
			entry(wireName("example.org"), 15, 60, bigEndian(1, 2)+host),
			entry(wireName("bank.example"), 15, 60, bigEndian(1, 2)+host))
	case "28 example.org":
		return q.reply(0, entry(sameName, 28, 60,
			"\x20\x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x01"))
	case "1 example.org":
		return q.reply(0, entry(sameName, 1, 60, "\xc0\x00\x02\x01"))
	case "15 nothing.example.org":
		return q.reply(0)
	}
	return q.reply(3)
}

func TestRecords(t *testing.T) {
	t.Parallel()
	s := startNames(t, zone)
	got := asks(t, s.at, "15 example.org", "16 example.org", "33 _irc._tcp.example.org",
		"12 1.2.0.192.in-addr.arpa", "5 www.example.org", "2 example.org", "15 www.example.org",
		"28 example.org", "1 example.org", "15 nothing.example.org", "15 no.example.org",
		"15 a..b", "0 example.org", "15 "+strings.Repeat("x", 64)+".org")
	want := `15 example.org: 2
  example.org 15 5m0s mail.example.org [] 10 0 0 0
  example.org 15 5m0s backup.example.net [] 20 0 0 0
16 example.org: 3
  example.org 16 596523h14m7s  [v=one two] 0 0 0 0
  example.org 16 0s  [] 0 0 0 0
` + "  example.org 16 5s  [\x00\xff] 0 0 0 0\n" + `33 _irc._tcp.example.org: 1
  _irc._tcp.example.org 33 1m0s mail.example.org [] 0 1 2 6667
12 1.2.0.192.in-addr.arpa: 1
  1.2.0.192.in-addr.arpa 12 1m0s mail.example.org [] 0 0 0 0
5 www.example.org: 1
  www.example.org 5 1m0s example.org [] 0 0 0 0
2 example.org: 2
  example.org 2 1m0s ns1.example.org [] 0 0 0 0
  example.org 2 1m0s n\.s [] 0 0 0 0
15 www.example.org: 1
  example.org 15 1m0s mail.example.org [] 1 0 0 0
28 example.org: 1
  example.org 28 1m0s  [2001:db8::1] 0 0 0 0
1 example.org: 1
  example.org 1 1m0s  [192.0.2.1] 0 0 0 0
15 nothing.example.org: 0
15 no.example.org: error 3 no.example.org: there is no such name (NXDOMAIN)
15 a..b: error 22 a..b: this is no name
0 example.org: error 22 example.org: this is no name, or no kind of record
`
	rest, found := strings.CutPrefix(got, want)
	if !found {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(rest, "error 22") {
		t.Errorf("a part of 64 bytes: %q", rest)
	}
	if got := asks(t, s.at, "16 long.example.org"); len(got) < 20*255 {
		t.Errorf("by TCP: got %d bytes: %q", len(got), head(got))
	}
}

// Servers that fail, are silent, or are not there: the next one is asked.
func TestRecordsOfOthers(t *testing.T) {
	t.Parallel()
	good := startNames(t, zone)
	broken := startNames(t, func(q question) []byte { return q.reply(2) })
	refusing := startNames(t, func(q question) []byte { return q.reply(5) })
	silent := startNames(t, func(question) []byte { return nil })
	gone := startNames(t, zone)
	u, err := net.ListenPacket("udp", "127.0.0.1:0") // a port that nobody has
	if err != nil {
		t.Fatal(err)
	}
	gone.at = u.LocalAddr().String()
	u.Close()
	const question = "5 www.example.org"
	fine := question + ": 1\n"
	for _, c := range []struct{ servers, want string }{
		{broken.at + "," + good.at, fine}, {refusing.at + "," + good.at, fine},
		{silent.at + "," + good.at, fine}, {gone.at + "," + good.at, fine},
		{broken.at, "error 2 www.example.org: the server has failed (SERVFAIL)"},
		{refusing.at, "error 5 www.example.org: the server refuses to answer (REFUSED)"},
		{silent.at, "error 110 www.example.org: no server answers"},
		{gone.at, "error 113 www.example.org: no server can be reached"},
		{"nonsense", "error 22 nonsense: this is no address of a server"},
	} {
		if got := asks(t, c.servers, question); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.servers, got, c.want)
		}
	}
	began := time.Now()
	got := asks(t, silent.at, question+" 50")
	if !strings.Contains(got, "error 110 timeout") || time.Since(began) > 5*time.Minute {
		t.Errorf("given up after %v: %q", time.Since(began), got)
	}
}

// Replies that break the rules are errors, or no replies at all; a forged one is not taken.
func TestRecordsHostile(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"a loop":         entry("\xc0\x1d", 15, 1, bigEndian(1, 2)+"\xc0\x1d"),
		"a jump forward": entry(sameName, 15, 1, bigEndian(1, 2)+"\xc0\xff"),
		"a record that is long": sameName + bigEndian(15, 2) + bigEndian(1, 2) + bigEndian(1, 4) +
			"\xff\xff",
		"a record that is cut": sameName + bigEndian(15, 2),
		"a part of no kind":    entry(sameName, 15, 1, bigEndian(1, 2)+"\x80x\x00"),
		"a name that is long": entry(sameName, 15, 1, bigEndian(1, 2)+
			strings.Repeat("\x3f"+strings.Repeat("x", 63), 4)+"\x00"),
		"bytes behind a name": entry(sameName, 15, 1, bigEndian(1, 2)+"\x01x\x00more"),
		"no preference":       entry(sameName, 15, 1, "\x01"),
		"an empty record":     entry(sameName, 15, 1, ""),
	} {
		t.Run(name, func(t *testing.T) {
			s := startNames(t, func(q question) []byte { return q.reply(0, data) })
			if got := asks(t, s.at, "15 example.org"); !strings.Contains(got,
				"error 74 the reply is malformed at byte ") {
				t.Errorf("got %q", got)
			}
		})
	}
	forged := startNames(t, func(q question) []byte {
		r := q.reply(0, entry(sameName, 15, 1, bigEndian(1, 2)+wireName("liar.example")))
		r[0] ^= 0xff // the number of another question
		return r
	})
	if got := asks(t, forged.at, "15 example.org"); !strings.Contains(got, "error 110") {
		t.Errorf("a forged reply: %q", got)
	}
}
