package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// The servers of the tests.
const (
	answering = "192.0.2.53:53"
	refusing  = "192.0.2.54:53"
	silent    = "192.0.2.55:53"
	failing   = "192.0.2.56:53"
)

// servers are servers of DNS, each behind a pipe for each query. Before each answer over UDP the
// answering one sends some that are forged.
type servers struct {
	t     *testing.T
	mu    sync.Mutex
	asked []string // names and types, with the protocol
}

func (s *servers) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	switch address {
	case refusing:
		return nil, errors.New("connection refused")
	case silent:
		go func() {
			defer far.Close()
			_, _ = io.Copy(io.Discard, far) // until the client gives up
		}()
	default:
		go s.serve(far, network, address == failing)
	}
	return near, nil
}

// serve answers one query.
func (s *servers) serve(c net.Conn, network string, fails bool) {
	defer c.Close()
	b := make([]byte, 2000)
	n, err := c.Read(b)
	if err != nil {
		return
	}
	if b = b[:n]; network == "tcp" {
		b = b[2:]
	}
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		s.t.Error(err)
		return
	}
	q := m.Questions[0]
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%s %s %s", q.Name, strings.TrimPrefix(
		q.Type.String(), "Type"), network))
	s.mu.Unlock()
	s.fill(&m, network, fails)
	right, err := m.Pack()
	if err != nil {
		s.t.Error(err)
		return
	}
	if network == "tcp" {
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(right))), right...))
		return
	}
	other := slices.Clone(right)
	other[0]++
	evil := slices.Clone(right)
	evil[headerLen+1] ^= 1
	for _, x := range [][]byte{other, evil, {1, 2, 3}, b, right} {
		_, _ = c.Write(x) // the client may have given up
	}
}

// fill makes the answer to a query.
func (s *servers) fill(m *dnsmessage.Message, network string, fails bool) {
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	body := func() dnsmessage.ResourceBody {
		if q.Type == dnsmessage.TypeA {
			return a4(1)
		}
		return &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr("2001:db8::1").As16()}
	}
	add := func(name string, body dnsmessage.ResourceBody) {
		m.Answers = append(m.Answers, answer(name, dnsmessage.ClassINET, body))
	}
	switch name := q.Name.String(); {
	case fails:
		m.RCode = dnsmessage.RCodeServerFailure
	case name == "host.test.", name == "box.corp.test.":
		add(name, body())
	case name == "alias.test.":
		add(name, alias("host.test."))
		add("host.test.", body())
	case name == "four.test.":
		if q.Type == dnsmessage.TypeA {
			add(name, body())
		}
	case name == "half.test.": // one family is not known
		if q.Type == dnsmessage.TypeA {
			add(name, body())
		} else {
			m.RCode = dnsmessage.RCodeServerFailure
		}
	case name == "long.test." && network == "udp":
		m.Truncated = true
	case name == "long.test.":
		for range 200 {
			add(name, body())
		}
	case name == "broken.test.":
		m.RCode = dnsmessage.RCodeServerFailure
	default:
		m.RCode = dnsmessage.RCodeNameError
	}
}

// resolverOf returns a resolver that asks some servers.
func resolverOf(t *testing.T, addresses ...string) (*Resolver, *servers) {
	s := &servers{t: t}
	var all []netip.AddrPort
	for _, a := range addresses {
		all = append(all, netip.MustParseAddrPort(a))
	}
	return &Resolver{Dial: s.dial, Servers: func() []netip.AddrPort { return all }}, s
}

func TestLookup(t *testing.T) {
	r, _ := resolverOf(t, answering)
	const both = "[2001:db8::1 192.0.2.1]"
	for _, c := range []struct{ network, name, want string }{
		{"ip", "host.test", both}, {"ip", "HOST.test.", both}, {"ip", "alias.test", both},
		{"ip4", "host.test", "[192.0.2.1]"}, {"ip6", "host.test", "[2001:db8::1]"},
		{"ip", "four.test", "[192.0.2.1]"}, {"ip", "half.test", "[192.0.2.1]"},
		{"ip", "192.0.2.9", "[192.0.2.9]"}, {"ip4", "::ffff:192.0.2.9", "[192.0.2.9]"},
		{"ip6", "2001:db8::9", "[2001:db8::9]"},
	} {
		got, err := r.LookupNetIP(t.Context(), c.network, c.name)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s of %s: %v, %v, want %s", c.network, c.name, got, err, c.want)
		}
	}
	if got, err := r.LookupHost(t.Context(), "long.test"); err != nil || len(got) != 400 ||
		got[0] != "2001:db8::1" || got[399] != "192.0.2.1" {
		t.Errorf("%d addresses by TCP, %v", len(got), err)
	}
	for _, c := range []struct {
		network, name string
		absent        bool
	}{
		{"ip", "none.test", true}, {"ip6", "four.test", true}, {"ip6", "192.0.2.9", true},
		{"ip", "localhost", true}, {"ip", "a.LOCALHOST.", true}, {"ip", "", true},
		{"ip", ".", true},
		{"ip", "a..b", true}, {"ip", "a b", true}, {"ip", strings.Repeat("a", 300), true},
		{"ip", "broken.test", false},
	} {
		got, err := r.LookupNetIP(t.Context(), c.network, c.name)
		var e *net.DNSError
		if !errors.As(err, &e) || e.IsNotFound != c.absent || e.IsTimeout || e.Name != c.name ||
			len(got) != 0 {
			t.Errorf("%s of %q: %v, %v", c.network, c.name, got, err)
		}
	}
	if _, err := r.LookupNetIP(t.Context(), "tcp", "host.test"); err == nil {
		t.Error("an unknown network")
	}
}

// TestServers asks others when one does not answer, and knows no names of this machine.
func TestServers(t *testing.T) {
	r, s := resolverOf(t, refusing, failing, "192.0.2.53:0")
	got, err := r.LookupNetIP(t.Context(), "ip4", "host.test")
	if err != nil || fmt.Sprint(got) != "[192.0.2.1]" {
		t.Errorf("the third server: %v, %v", got, err)
	}
	if len(s.asked) != 2 {
		t.Errorf("asked: %q", s.asked)
	}
	r, _ = resolverOf(t)
	if _, err := r.LookupHost(t.Context(), "host.test"); err == nil ||
		!strings.Contains(err.Error(), ErrNoServers.Error()) {
		t.Errorf("no servers: %v", err)
	}
	// /etc/hosts of this machine has localhost, and often its name.
	r, s = resolverOf(t, answering)
	for _, name := range []string{"localhost", "ip6-localhost"} {
		if got, err := r.LookupHost(t.Context(), name); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
	if want := []string{"ip6-localhost. A udp", "ip6-localhost. AAAA udp"}; !slices.Equal(
		slices.Sorted(slices.Values(s.asked)), want) {
		t.Errorf("asked: %q", s.asked)
	}
}

func TestSearchAndFamilies(t *testing.T) {
	r, s := resolverOf(t, answering)
	r.Search = []string{"other.test", "Corp.test.", "..", "third.test"}
	r.Families = func() (ipv4, ipv6 bool) { return true, false }
	for name, want := range map[string]string{
		"box":        "[192.0.2.1] [box.other.test. A udp box.corp.test. A udp]",
		"host.test.": "[192.0.2.1] [host.test. A udp]",
		"box.":       "[] [box. A udp]", // with a dot: no domain is searched
	} {
		s.asked = nil
		got, _ := r.LookupNetIP(t.Context(), "ip", name) // an error has no addresses
		if text := fmt.Sprint(got, s.asked); text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
	s.asked = nil
	if _, err := r.LookupNetIP(t.Context(), "ip", "nobody"); err == nil || len(s.asked) != 4 ||
		s.asked[3] != "nobody. A udp" {
		t.Errorf("%q, %v", s.asked, err)
	}
	r.Families = func() (ipv4, ipv6 bool) { return false, true }
	if got, err := r.LookupHost(t.Context(), "host.test"); err != nil ||
		fmt.Sprint(got) != "[2001:db8::1]" {
		t.Errorf("IPv6 only: %v, %v", got, err)
	}
}

// TestTimes has servers that do not answer, in fake time.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := resolverOf(t, silent, silent)
		begun := time.Now()
		_, err := r.LookupHost(t.Context(), "host.test")
		var e *net.DNSError
		if !errors.As(err, &e) || !e.IsTimeout || e.IsNotFound || e.Server != silent ||
			time.Since(begun) != 4*serverTime {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		r, _ = resolverOf(t, silent, answering)
		begun = time.Now()
		if _, err := r.LookupHost(t.Context(), "host.test"); err != nil ||
			time.Since(begun) != serverTime {
			t.Errorf("the second server: %v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := r.LookupHost(ctx, "host.test"); err == nil ||
			time.Since(begun) != time.Second {
			t.Errorf("a context that ends: %v after %v", err, time.Since(begun))
		}
		if _, err := r.LookupHost(ctx, "host.test"); err == nil {
			t.Error("a context that has ended")
		}
	})
}
