package tun2socks

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// ask returns the packed query for a name.
func ask(t testing.TB, name string, kind dnsmessage.Type, class dnsmessage.Class) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 4711, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind,
			Class: class}}}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reply parses the answer to a query.
func reply(t *testing.T, n *names, query []byte) (m dnsmessage.Message) {
	t.Helper()
	b, err := n.answer(query)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Unpack(b); err != nil {
		t.Fatal(err)
	}
	return m
}

func testNames(t testing.TB, network string) *names {
	t.Helper()
	n, err := newNames(netip.MustParsePrefix(network))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNames(t *testing.T) {
	n := testNames(t, "198.18.0.0/16")
	edns := append(ask(t, "Host.Test.", dnsmessage.TypeA, dnsmessage.ClassINET),
		0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0)
	edns[11] = 1
	for i, query := range [][]byte{ask(t, "host.test.", dnsmessage.TypeA, dnsmessage.ClassINET),
		edns} {
		m := reply(t, n, query)
		if m.ID != 4711 || !m.Response || !m.RecursionDesired || !m.RecursionAvailable ||
			m.RCode != 0 || len(m.Questions) != 1 || len(m.Answers) != 1 {
			t.Fatalf("query %d: %+v", i, m)
		}
		a := m.Answers[0]
		if body, ok := a.Body.(*dnsmessage.AResource); !ok || body.A != [4]byte{198, 18, 0, 1} ||
			!strings.EqualFold(a.Header.Name.String(), "host.test.") ||
			a.Header.TTL != answerTTL {
			t.Errorf("query %d: %+v", i, a)
		}
	}
	to, err := n.address(netip.MustParseAddrPort("198.18.0.1:80"))
	if err != nil || to.String() != "host.test:80" {
		t.Errorf("%v, %v", to, err)
	}
	if to, err := n.address(netip.MustParseAddrPort("198.18.0.2:80")); err == nil {
		t.Errorf("an address that was not given is %v", to)
	}
	for _, c := range []struct {
		query []byte
		code  dnsmessage.RCode
	}{
		{ask(t, "host.test.", dnsmessage.TypeAAAA, dnsmessage.ClassINET), dnsmessage.RCodeSuccess},
		{ask(t, "host.test.", dnsmessage.TypeMX, dnsmessage.ClassINET), dnsmessage.RCodeSuccess},
		{ask(t, "a b.test.", dnsmessage.TypeA, dnsmessage.ClassINET), dnsmessage.RCodeNameError},
		{ask(t, ".", dnsmessage.TypeA, dnsmessage.ClassINET), dnsmessage.RCodeNameError},
		{ask(t, "host.test.", dnsmessage.TypeA, dnsmessage.ClassCHAOS),
			dnsmessage.RCodeNotImplemented},
	} {
		if m := reply(t, n, c.query); m.RCode != c.code || len(m.Answers) != 0 {
			t.Errorf("%q: %+v", c.query, m)
		}
	}
	whole := ask(t, "host.test.", dnsmessage.TypeA, dnsmessage.ClassINET)
	for i := range whole {
		if b, err := n.answer(whole[:i]); !errors.Is(err, errNoQuery) {
			t.Errorf("of %d bytes: %q, %v", i, b, err)
		}
	}
	for _, bad := range []string{
		// an answer, two questions, a pointer, and a name that is too long
		"\x00\x01\x80\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01",
		"\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01",
		"\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01\x00",
		"\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00" +
			strings.Repeat("\x01a", 200) + "\x00\x00\x01\x00\x01",
	} {
		if b, err := n.answer([]byte(bad)); !errors.Is(err, errNoQuery) {
			t.Errorf("%q: %q, %v", bad, b, err)
		}
	}
}

// TestNamesGiveWay looks up more names than there are addresses.
func TestNamesGiveWay(t *testing.T) {
	n := testNames(t, "198.18.0.0/29") // six hosts
	given := map[netip.Addr]bool{}
	for i := range 6 {
		given[n.addressOf(fmt.Sprintf("host%d.test", i))] = true
	}
	if len(given) != 6 || given[netip.MustParseAddr("198.18.0.0")] ||
		given[netip.MustParseAddr("198.18.0.7")] {
		t.Errorf("%v", given)
	}
	first := n.addressOf("host0.test") // now host1 is the oldest
	second := n.addressOf("other.test")
	if to, err := n.address(netip.AddrPortFrom(first, 1)); err != nil || to.Name != "host0.test" {
		t.Errorf("%v, %v", to, err)
	}
	if to, err := n.address(netip.AddrPortFrom(second, 1)); err != nil || to.Name != "other.test" {
		t.Errorf("%v, %v", to, err)
	}
	if third := n.addressOf("host1.test"); third == first || third == second {
		t.Errorf("%v for two", third)
	}
	if len(n.byName) != 6 || len(n.byAddr) != 6 || n.lru.Len() != 6 {
		t.Errorf("%d names, %d addresses, %d in all", len(n.byName), len(n.byAddr), n.lru.Len())
	}
	for _, bad := range []string{"198.18.0.0/31", "fd00::/64"} {
		if _, err := newNames(netip.MustParsePrefix(bad)); err == nil {
			t.Errorf("names in %s", bad)
		}
	}
}

// FuzzNames holds that an answer can be parsed, and repeats what was asked.
func FuzzNames(f *testing.F) {
	f.Add(ask(f, "host.test.", dnsmessage.TypeA, dnsmessage.ClassINET))
	f.Add(ask(f, "host.test.", dnsmessage.TypeAAAA, dnsmessage.ClassINET))
	f.Add(ask(f, ".", dnsmessage.TypeA, dnsmessage.ClassINET))
	n := testNames(f, "198.18.0.0/24")
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := n.answer(b)
		if err != nil {
			return
		}
		var asked, p dnsmessage.Parser
		if _, err := asked.Start(b); err != nil {
			t.Fatalf("%q is answered by %q, but is not DNS: %v", b, out, err)
		}
		if _, err := asked.AllQuestions(); err != nil {
			return // a label with a dot, which this parser does not take
		}
		h, err := p.Start(out)
		if err != nil || !h.Response {
			t.Fatalf("%q is answered by %q: %v", b, out, err)
		}
		questions, err := p.AllQuestions()
		if err != nil || len(questions) != 1 {
			t.Fatalf("%q is answered by %q: %v", b, out, err)
		}
		if answers, err := p.AllAnswers(); err != nil || len(answers) > 1 {
			t.Fatalf("%q is answered by %q: %v", b, out, err)
		}
	})
}
