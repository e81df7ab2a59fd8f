package slirp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"interleave/gonet"
)

// question returns a query for the IPv4 addresses of a name.
func question(t testing.TB, id uint16, name string) []byte {
	t.Helper()
	return questionOf(t, id, name, dnsmessage.TypeA)
}

// questionOf returns a query for records of a type.
func questionOf(t testing.TB, id uint16, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name),
			Type: kind, Class: dnsmessage.ClassINET}}}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// answerTo returns the answer to a query: the address 192.0.2.N for a name that begins with N, and
// no name for others.
func answerTo(t testing.TB, b []byte) []byte {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		t.Error(err)
		return nil
	}
	m.Response = true
	name := m.Questions[0].Name
	if n := name.Data[0] - '0'; n < 10 {
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: name,
			Class: dnsmessage.ClassINET, TTL: 60},
			Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, n}}}}
	} else {
		m.RCode = dnsmessage.RCodeNameError
	}
	out, err := m.Pack()
	if err != nil {
		t.Error(err)
	}
	return out
}

// serveDNS is a server of DNS at port 53 of a stack. Before each answer it sends what forge makes
// of the query, if it is not nil.
func serveDNS(t *testing.T, s *gonet.Stack, forge func([]byte) [][]byte) {
	t.Helper()
	p, err := s.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen("tcp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		b := make([]byte, maxDatagram)
		for {
			n, from, err := p.ReadFromAddrPort(b)
			if err != nil {
				return
			}
			var all [][]byte
			if forge != nil {
				all = forge(b[:n])
			}
			for _, x := range append(all, answerTo(t, b[:n])) {
				_, _ = p.WriteToAddrPort(x, from) // the guest checks what arrives
			}
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b, err := readMessage(c, maxDatagram)
				if err == nil {
					err = writeMessage(c, answerTo(t, b))
				}
				if err != nil {
					t.Error(err)
				}
			}()
		}
	}()
}

// address returns the code of an answer, and the address in it.
func address(t *testing.T, b []byte, id uint16) (dnsmessage.RCode, string) {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil || !m.Response || m.ID != id || len(m.Questions) != 1 {
		t.Fatalf("%+v, %v", m.Header, err)
	}
	if len(m.Answers) == 0 {
		return m.RCode, ""
	}
	return m.RCode, netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A).String()
}

// resolver sets the servers of a world: the second one is that of serveDNS.
func resolver(c *Config) {
	c.Resolvers = func() []netip.AddrPort {
		return []netip.AddrPort{netip.MustParseAddrPort("198.51.100.99:53"),
			netip.MustParseAddrPort(serverAddr + ":53")}
	}
}

// TestNames asks the forwarder over both families, UDP and TCP. The host's first server does not
// answer.
func TestNames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		serveDNS(t, w.server, nil)
		for i, to := range []string{"10.0.2.3:53", "[fd00::3]:53"} {
			id := uint16(7000 + i)
			c := dial(t, w.guest, "udp", to)
			for name, want := range map[string]string{"5.test.": "192.0.2.5", "none.test.": ""} {
				if _, err := c.Write(question(t, id, name)); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 1000)
				if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				n, err := c.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				code, got := address(t, b[:n], id)
				if got != want || (code == dnsmessage.RCodeSuccess) != (want != "") {
					t.Errorf("%s: %v %s, want %s", name, code, got, want)
				}
			}
			stream := dial(t, w.guest, "tcp", to)
			for _, name := range []string{"6.test.", "7.test."} {
				if err := writeMessage(stream, question(t, id, name)); err != nil {
					t.Fatal(err)
				}
				b, err := readMessage(stream, maxDatagram)
				if err != nil {
					t.Fatal(err)
				}
				if _, got := address(t, b, id); got != "192.0.2."+name[:1] {
					t.Errorf("%s over TCP: %s", name, got)
				}
			}
			_ = stream.Close() // all was read
		}
	}, resolver)
}

// TestNoNames has no server that answers, and then no forwarder.
func TestNoNames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := dial(t, w.guest, "udp", "10.0.2.3:53")
		if _, err := c.Write(question(t, 9, "5.test.")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1000)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := address(t, b[:n], 9); code != dnsmessage.RCodeServerFailure {
			t.Errorf("%v", code)
		}
	}, resolver)
	inWorld(t, func(t *testing.T, w *world) {
		expectRefusedDatagram(t, w.guest, "10.0.2.3:53")
	})
}

// TestAttackForgedAnswers has an attacker answer before the server does.
func TestAttackForgedAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		serveDNS(t, w.server, func(q []byte) (all [][]byte) {
			wrongID, wrongName := answerTo(t, question(t, 0, "1.test.")), bytes.Clone(q)
			binary.BigEndian.PutUint16(wrongID, binary.BigEndian.Uint16(q)+1)
			wrongName[2] |= flagAnswer >> 8
			wrongName[dnsHeaderLen+1] = '2'
			return [][]byte{wrongID, wrongName, q, nil, q[:5], {0}}
		})
		c := dial(t, w.guest, "udp", "10.0.2.3:53")
		if _, err := c.Write(question(t, 9, "5.test.")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1000)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := address(t, b[:n], 9); got != "192.0.2.5" {
			t.Errorf("%s", got)
		}
	}, resolver)
}

// TestAttackNames sends the forwarder junk, and then more queries than it asks at once.
func TestAttackNames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := dial(t, w.guest, "udp", "10.0.2.3:53")
		for i := range 2_000 {
			junk := bytes.Repeat([]byte{byte(i)}, i)
			if _, err := c.Write(junk); err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if n := len(w.slirp.queries); n != 0 {
			t.Errorf("%d queries of junk are asked", n)
		}
		for i := range 4 * maxQueries {
			if _, err := c.Write(question(t, uint16(i), "5.test.")); err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if n := len(w.slirp.queries); n != maxQueries {
			t.Errorf("%d queries are asked at once, want %d", n, maxQueries)
		}
		stream := dial(t, w.guest, "tcp", "10.0.2.3:53")
		if err := writeMessage(stream, []byte("no query")); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Read(make([]byte, 1)); err == nil {
			t.Error("junk over TCP was answered")
		}
		idle := dial(t, w.guest, "tcp", "10.0.2.3:53")
		if _, err := idle.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("an idle connection: %v", err)
		}
	}, resolver)
}

func TestResolvConf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	r := NewResolvConf(path)
	expect := func(want string) {
		t.Helper()
		r.checked = time.Time{} // as if a second had passed
		var got []string
		for _, s := range r.Servers() {
			got = append(got, s.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	expect("127.0.0.1:53") // there is no file
	for _, c := range []struct{ text, want string }{
		{"search test\nnameserver 192.0.2.1\n# nameserver 192.0.2.9\nnameserver fe80::1%eth0\n" +
			"nameserver name\nnameserver\n\tnameserver   192.0.2.3  x\nnameserver 192.0.2.4",
			"192.0.2.1:53 [fe80::1%eth0]:53 192.0.2.3:53"},
		{"nameserver 192.0.2.8", "192.0.2.8:53"},
		{"", "127.0.0.1:53"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(c.want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("127.0.0.1:53")
}

func FuzzResolvConf(f *testing.F) {
	f.Add([]byte("nameserver 192.0.2.1\nnameserver fe80::1%eth0\n;x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		servers := parseResolvConf(text)
		if len(servers) < 1 || len(servers) > maxServers {
			t.Fatalf("%v", servers)
		}
		for _, s := range servers {
			if !s.IsValid() || s.Port() != portDNS {
				t.Fatalf("%v", s)
			}
		}
	})
}

// FuzzQuery holds that what is taken for a query has answers, which only it takes.
func FuzzQuery(f *testing.F) {
	q := question(f, 7, "www.test.")
	f.Add(q, answerTo(f, q))
	f.Add(append(q, 0, 0, 41), q[:3])
	f.Add(questionOf(f, 8, "WWW.test.", dnsmessage.TypeAAAA), q)
	known := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
	f.Fuzz(func(t *testing.T, b, answer []byte) {
		q, err := parseQuery(b)
		if err != nil {
			return
		}
		q.isAnsweredBy(answer)
		name, _ := q.asked()
		if len(name) > maxNameLen {
			t.Fatalf("a name of %d bytes", len(name))
		}
		for _, a := range [][]byte{q.failure(), q.answer(known)} {
			if !q.isAnsweredBy(a) || q.withID(^binary.BigEndian.Uint16(b)).isAnsweredBy(a) {
				t.Fatalf("query % x, answer % x", b, a)
			}
			if _, err := parseQuery(a); err == nil {
				t.Fatalf("% x: an answer is no query", a)
			}
		}
	})
}
