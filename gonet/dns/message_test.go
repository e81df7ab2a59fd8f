package dns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestQuery has another implementation read a query.
func TestQuery(t *testing.T) {
	for _, q := range []question{{"www.example.test.", typeA}, {"a.", typeAAAA},
		{strings.Repeat("a.", 126) + "a.", typeA}} {
		var m dnsmessage.Message
		if err := m.Unpack(q.query(77)); err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		if m.ID != 77 || !m.RecursionDesired || m.Response || len(m.Questions) != 1 ||
			m.Questions[0].Name.String() != q.name ||
			m.Questions[0].Type != dnsmessage.Type(q.kind) ||
			m.Questions[0].Class != dnsmessage.ClassINET || len(m.Additionals) != 1 ||
			m.Additionals[0].Header.Type != dnsmessage.TypeOPT ||
			m.Additionals[0].Header.Class != maxUDP {
			t.Errorf("%s: %+v", q.name, m)
		}
	}
}

func TestIsName(t *testing.T) {
	long := strings.Repeat("a.", 126) + "a"
	for name, want := range map[string]bool{"a": true, "a.": true, "A-1.b_c.": true,
		"bücher.test": true, long: true, long + "a": false, long + ".": true, "": false, ".": false,
		"a..b": false, ".a": false, "a b": false, "a\n": false, "a\x00": false,
		strings.Repeat("a", 63): true, strings.Repeat("a", 64): false} {
		if isName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// message makes a message of bytes, given as text for names and numbers for all else.
func message(parts ...any) (b []byte) {
	for _, p := range parts {
		switch x := p.(type) {
		case string:
			b = append(append(b, byte(len(x))), x...)
		case int:
			b = append(b, byte(x))
		case []byte:
			b = append(b, x...)
		}
	}
	return b
}

// TestReadName reads names as others write them, and as attackers do.
func TestReadName(t *testing.T) {
	long := strings.Repeat("a", 62)
	for _, c := range []struct {
		b        []byte
		at       int
		want     string // empty: it is refused
		wantEnds int
	}{
		{message("WWW", "test", 0), 0, "www.test.", 10},
		{message(0), 0, ".", 1},
		{message("test", 0, "www", pointer, 0, 9), 6, "www.test.", 12},
		{message("test", 0, pointer, 0, pointer, 6), 8, "test.", 10},
		{message(pointer, 0), 0, "", 0},                      // to itself
		{message(pointer, 2, pointer, 0), 2, "", 0},          // forwards
		{message("a", pointer, 0), 0, "", 0},                 // round and round
		{message("a", pointer), 0, "", 0},                    // cut
		{message("a"), 0, "", 0},                             // cut
		{message(3, []byte("ab")), 0, "", 0},                 // cut
		{message("a.b", 0), 0, "", 0},                        // a dot in a label
		{message(0x40, 0), 0, "", 0},                         // an unknown kind of label
		{message(long, long, long, long, "bb", 0), 0, "", 0}, // 256 bytes
		{nil, 0, "", 0},
	} {
		name, end, ok := readName(c.b, c.at)
		if ok != (c.want != "") || name != c.want || end != c.wantEnds {
			t.Errorf("% x at %d: %q, %d, %v, want %q, %d", c.b, c.at, name, end, ok, c.want,
				c.wantEnds)
		}
	}
}

// packed makes a response with answers.
func packed(t testing.TB, q question, change func(m *dnsmessage.Message),
	answers ...dnsmessage.Resource) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, Response: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(q.name),
			Type: dnsmessage.Type(q.kind), Class: dnsmessage.ClassINET}}, Answers: answers}
	if change != nil {
		change(&m)
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func answer(name string, class dnsmessage.Class, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{
		Name: dnsmessage.MustNewName(name), Class: class}, Body: body}
}

func a4(n byte) dnsmessage.ResourceBody { return &dnsmessage.AResource{A: [4]byte{192, 0, 2, n}} }

func alias(to string) dnsmessage.ResourceBody {
	return &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to)}
}

// TestAddresses reads responses.
func TestAddresses(t *testing.T) {
	const in = dnsmessage.ClassINET
	q := question{"www.test.", typeA}
	var chain []dnsmessage.Resource
	for i := range maxLinks + 1 {
		chain = append(chain, answer(fmt.Sprintf("n%d.test.", i), in,
			alias(fmt.Sprintf("n%d.test.", i+1))))
	}
	for name, c := range map[string]struct {
		b       []byte
		want    string
		wantErr error
	}{
		"addresses": {packed(t, q, nil, answer("WWW.test.", in, a4(1)),
			answer("www.test.", in, a4(2))), "[192.0.2.1 192.0.2.2]", nil},
		"an alias": {packed(t, q, nil, answer("www.test.", in, alias("b.test.")),
			answer("c.test.", in, a4(3)), answer("b.test.", in, alias("c.test."))),
			"[192.0.2.3]", nil},
		"those of others": {packed(t, q, nil, answer("other.test.", in, a4(1)),
			answer("www.test.", dnsmessage.ClassCHAOS, a4(2)),
			answer("www.test.", in, &dnsmessage.AAAAResource{}),
			answer("www.test.", in, &dnsmessage.TXTResource{TXT: []string{"x"}})), "[]", errNoName},
		"a loop": {packed(t, q, nil, answer("www.test.", in, alias("b.test.")),
			answer("b.test.", in, alias("www.test."))), "[]", errLoop},
		"a long chain": {packed(t, question{"n0.test.", typeA}, nil, chain...), "[]", errLoop},
		"no name": {packed(t, q, func(m *dnsmessage.Message) {
			m.RCode = dnsmessage.RCodeNameError
		}), "[]", errNoName},
		"too long": {packed(t, q, func(m *dnsmessage.Message) { m.Truncated = true },
			answer("www.test.", in, a4(1))), "[]", errTruncated},
		"cut": {packed(t, q, nil, answer("www.test.", in, a4(1)))[:40], "[]", errMessage},
	} {
		asked := q
		if name == "a long chain" {
			asked.name = "n0.test."
		}
		at, yes := asked.isAnsweredBy(c.b, 7)
		if !yes {
			t.Fatalf("%s: not an answer", name)
		}
		got, err := asked.addresses(c.b, at)
		if fmt.Sprint(got) != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%s: %v, %v, want %s, %v", name, got, err, c.want, c.wantErr)
		}
	}
	failed := packed(t, q, func(m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeRefused })
	if _, err := q.addresses(failed, len(failed)); err == nil || errors.Is(err, errNoName) {
		t.Errorf("a refusal: %v", err)
	}
}

// TestForgedAnswers are none.
func TestForgedAnswers(t *testing.T) {
	q := question{"www.test.", typeA}
	right := packed(t, q, nil, answer("www.test.", dnsmessage.ClassINET, a4(1)))
	if _, yes := q.isAnsweredBy(right, 7); !yes {
		t.Fatal("the right answer is refused")
	}
	for name, b := range map[string][]byte{
		"another identifier": packed(t, q, func(m *dnsmessage.Message) { m.ID = 8 }),
		"a query":            packed(t, q, func(m *dnsmessage.Message) { m.Response = false }),
		"no question":        packed(t, q, func(m *dnsmessage.Message) { m.Questions = nil }),
		"two questions": packed(t, q, func(m *dnsmessage.Message) {
			m.Questions = append(m.Questions, m.Questions...)
		}),
		"another name": packed(t, question{"ww2.test.", typeA}, nil),
		"another type": packed(t, question{"www.test.", typeAAAA}, nil),
		"another class": packed(t, q, func(m *dnsmessage.Message) {
			m.Questions[0].Class = dnsmessage.ClassCHAOS
		}),
		"nothing": nil, "a part": right[:headerLen+5],
	} {
		if _, yes := q.isAnsweredBy(b, 7); yes {
			t.Errorf("%s is taken", name)
		}
	}
}

// FuzzAddresses reads answers of hostile servers.
func FuzzAddresses(f *testing.F) {
	q := question{"www.test.", typeA}
	const in = dnsmessage.ClassINET
	f.Add(packed(f, q, nil, answer("www.test.", in, a4(1))))
	f.Add(packed(f, q, nil, answer("www.test.", in, alias("b.test.")),
		answer("b.test.", in, a4(1))))
	f.Add(q.query(7))
	f.Add(append(q.query(7), pointer, headerLen, 0, typeA, 0, classIN, 0, 0, 0, 0, 0, 4, 1, 2, 3,
		4))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerLen { // so that mutants are answers
			binary.BigEndian.PutUint16(b, 7)
			b[2] |= flagResponse >> 8
		}
		at, yes := q.isAnsweredBy(b, 7)
		if !yes {
			return
		}
		all, err := q.addresses(b, at)
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%v, %v", all, err)
		}
		for _, a := range all {
			if !a.Is4() {
				t.Fatalf("the address %v of an answer to A", a)
			}
		}
	})
}

// FuzzName reads names that are the first bytes of a message.
func FuzzName(f *testing.F) {
	f.Add(message("WWW", "test", 0))
	f.Add(message("test", 0, "www", pointer, headerLen, 9))
	f.Fuzz(func(t *testing.T, b []byte) {
		name, end, ok := readName(b, 0)
		if !ok {
			return
		}
		if end < 1 || end > len(b) || len(name) > maxNameLen || !strings.HasSuffix(name, ".") {
			t.Fatalf("%q, which ends at %d", name, end)
		}
	})
}
