package proxy

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func parsed(t testing.TB, words ...string) Networks {
	t.Helper()
	n, err := ParseNetworks(words)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNetworks(t *testing.T) {
	n := parsed(t, "127.0.0.1", "::1", "192.0.2.77/24", "2001:db8::/32")
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.2": false, "::1": true, "::ffff:127.0.0.1": true,
		"192.0.2.1": true, "192.0.3.1": false, "2001:db8:7::1": true, "2001:db9::1": false,
		"fe80::1%eth0": false,
	} {
		if got := n.Contains(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	for _, wrong := range []string{"", "localhost", "192.0.2.0/33", "192.0.2", "::1%lo",
		"::ffff:192.0.2.1", "::ffff:192.0.2.0/120"} {
		if n, err := ParseNetworks([]string{wrong}); err == nil {
			t.Errorf("%q is taken as %v", wrong, n)
		}
	}
	if (Networks{}).Contains(netip.Addr{}) || n.Contains(netip.Addr{}) {
		t.Error("no address is believed")
	}
}

// TestClient reads headers as proxies write them, and as clients forge them. The proxies are
// 127.0.0.1 and 10.0.0.0/8.
func TestClient(t *testing.T) {
	n := parsed(t, "127.0.0.1", "10.0.0.0/8")
	for _, test := range []struct {
		name, header string
		values       []string
		proto        string
		want         string // "address secure", or a part of the error
	}{
		{"one hop", XForwardedFor, []string{"192.0.2.1"}, "https", "192.0.2.1:0 true"},
		{"plain", XForwardedFor, []string{"192.0.2.1"}, "http", "192.0.2.1:0 false"},
		{"no scheme", XForwardedFor, []string{"192.0.2.1"}, "", "192.0.2.1:0 false"},
		{"WebSocket of traefik", XForwardedFor, []string{"192.0.2.1"}, "wss", "192.0.2.1:0 true"},
		{"one part of the way is open", XForwardedFor, []string{"192.0.2.1, 10.0.0.7"},
			"https, http", "192.0.2.1:0 false"},
		{"a proxy behind another", XForwardedFor, []string{"192.0.2.1, 10.0.0.7"}, "https",
			"192.0.2.1:0 true"},
		{"in two lines", XForwardedFor, []string{"192.0.2.1", "10.0.0.7"}, "https",
			"192.0.2.1:0 true"},
		{"forged before it", XForwardedFor, []string{"127.0.0.1, 192.0.2.1"}, "https",
			"192.0.2.1:0 true"},
		{"forged in a line before it", XForwardedFor, []string{"198.51.100.1", "192.0.2.1"}, "",
			"192.0.2.1:0 false"},
		{"a client beside the proxy", XForwardedFor, []string{"127.0.0.1"}, "https",
			"127.0.0.1:0 true"},
		{"with a port", XForwardedFor, []string{"192.0.2.1:4711"}, "", "192.0.2.1:4711 false"},
		{"IPv6", XForwardedFor, []string{"2001:db8::7"}, "", "[2001:db8::7]:0 false"},
		{"IPv6 with a port", XForwardedFor, []string{"[2001:db8::7]:80"}, "",
			"[2001:db8::7]:80 false"},
		{"IPv4 in IPv6", XForwardedFor, []string{"::ffff:192.0.2.1"}, "", "192.0.2.1:0 false"},
		{"empty words", XForwardedFor, []string{" , 192.0.2.1 ,"}, "", "192.0.2.1:0 false"},
		{"nothing", XForwardedFor, nil, "https", ErrUnnamed.Error()},
		{"empty", XForwardedFor, []string{" "}, "https", ErrUnnamed.Error()},
		{"no address", XForwardedFor, []string{"unknown"}, "", `not an address: "unknown"`},
		{"the nearest is no address", XForwardedFor, []string{"192.0.2.1, x"}, "",
			`not an address: "x"`},
		{"a claim that is no address", XForwardedFor, []string{"unknown, 192.0.2.1"}, "https",
			"192.0.2.1:0 true"},
		{"such a claim behind two proxies", XForwardedFor, []string{"x, 192.0.2.1", "10.0.0.7"}, "",
			"192.0.2.1:0 false"},
		{"such a claim beside the proxy", XForwardedFor, []string{"x, 10.0.0.7"}, "",
			`not an address: "x"`},
		{"brackets", XForwardedFor, []string{"[192.0.2.1]"}, "", "not an address"},
		{"an open bracket", XForwardedFor, []string{"[2001:db8::7"}, "", "not an address"},
		{"many", XForwardedFor, []string{strings.Repeat("10.0.0.1,", 64) + "10.0.0.1"}, "",
			"more than 64 hops"},

		{"RFC 7239", Forwarded, []string{`for=192.0.2.60;proto=http;by=203.0.113.43`}, "https",
			"192.0.2.60:0 false"},
		{"any case", Forwarded, []string{`For="[2001:db8:cafe::17]:4711";PROTO=HTTPS`}, "",
			"[2001:db8:cafe::17]:4711 true"},
		{"two elements", Forwarded, []string{`for=192.0.2.43;proto=https, ` +
			`for=10.0.0.7;proto=https`}, "", "192.0.2.43:0 true"},
		{"an open part", Forwarded, []string{`for=192.0.2.43;proto=https, for=10.0.0.7;proto=http`},
			"", "192.0.2.43:0 false"},
		{"forged", Forwarded, []string{`for=127.0.0.1;proto=https`, `for=192.0.2.43;proto=https`},
			"", "192.0.2.43:0 true"},
		{"a comma in quotes", Forwarded, []string{`for=192.0.2.43;host="a,for=127.0.0.1"`}, "",
			"192.0.2.43:0 false"},
		{"a quote in quotes", Forwarded, []string{`host="\",for=127.0.0.1;x=\"";for=192.0.2.43`},
			"", "192.0.2.43:0 false"},
		{"a quote that does not end", Forwarded, []string{`for="192.0.2.43`}, "", "does not end"},
		{"for twice", Forwarded, []string{`for=127.0.0.1;for=192.0.2.43`}, "", `"for" twice`},
		{"hidden", Forwarded, []string{`for=_gazonk`}, "", "not an address"},
		{"hidden behind another", Forwarded, []string{`for=unknown, for=192.0.2.43;proto=https`},
			"", "192.0.2.43:0 true"},
		{"without for", Forwarded, []string{`proto=https`}, "", "not an address"},
		{"no value", Forwarded, []string{`for=`}, "", "expected a value"},
		{"no pair", Forwarded, []string{`192.0.2.43`}, "", "expected NAME=VALUE"},
		{"no semicolon", Forwarded, []string{`for=192.0.2.43 proto=https`}, "", "expected ; or ,"},
		{"empty elements", Forwarded, []string{`, for=192.0.2.43;;proto=https ,`}, "",
			"192.0.2.43:0 true"},
		{"only empty elements", Forwarded, []string{`,;,`}, "", ErrUnnamed.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := http.Header{}
			for _, v := range test.values {
				h.Add(test.header, v)
			}
			if test.proto != "" {
				h.Set("X-Forwarded-Proto", test.proto)
			}
			got, err := n.Client(h, test.header)
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				said = got.Address.String() + " " + map[bool]string{true: "true",
					false: "false"}[got.Secure]
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("got %q, want %q", said, test.want)
			}
		})
	}
}

// TestOnlyTheNamedHeaderIsRead forges the header that the proxy does not set.
func TestOnlyTheNamedHeaderIsRead(t *testing.T) {
	n := parsed(t, "127.0.0.1")
	h := http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=127.0.0.1"}}
	if c, err := n.Client(h, XForwardedFor); err != nil ||
		c.Address.Addr() != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("got %v, %v", c, err)
	}
	h.Del(XForwardedFor)
	if c, err := n.Client(h, XForwardedFor); err == nil {
		t.Errorf("the other header is believed: %v", c)
	}
}

// FuzzClient checks that the last address that is no proxy's is the client's, whatever the client
// has written before it.
func FuzzClient(f *testing.F) {
	f.Add("192.0.2.1, 10.0.0.1")
	f.Add(`for="[2001:db8::1]:7";proto=https;host="a\"b"`)
	f.Add(`for="`)
	f.Add("for=127.0.0.1;by=_x,,;")
	n := parsed(f, "127.0.0.1", "10.0.0.0/8")
	real := netip.MustParseAddr("192.0.2.99")
	f.Fuzz(func(t *testing.T, forged string) {
		for header, added := range map[string]string{XForwardedFor: "192.0.2.99",
			Forwarded: "for=192.0.2.99"} {
			h := http.Header{header: {forged}}
			if c, err := n.Client(h, header); err == nil && !c.Address.IsValid() {
				t.Errorf("%s: %q has no address and no error", header, forged)
			}
			h.Add(header, added)
			c, err := n.Client(h, header)
			if err == nil && c.Address.Addr() != real || errors.Is(err, ErrUnnamed) {
				t.Errorf("%s: %q hides the client: %v, %v", header, forged, c, err)
			}
		}
	})
}
