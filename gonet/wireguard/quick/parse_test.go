package quick

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

// The keys of the tests. They are of nobody.
const (
	private   = "yAnz5TF+lXXJte14tyji3zlMNq+hd2rYUIgJBgB3fBk="
	public    = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="
	second    = "TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0="
	preshared = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE="
)

// provider is a file as a provider of a VPN hands it out.
const provider = `[Interface]
# Device: Busy Otter
PrivateKey = ` + private + `
Address = 10.64.0.2/32,fc00:bbbb:bbbb:bb01::1:2/128
DNS = 10.64.0.1

[Peer]
PublicKey = ` + public + `
AllowedIPs = 0.0.0.0/0,::0/0
Endpoint = 185.213.154.68:51820
`

// whole has every key, and what wg-quick is lax about.
const whole = "\ufeff[interface]\r\n" +
	"privatekey=" + private + "\r\n" +
	"ADDRESS = 10.0.0.2/24 , 10.0.0.3 # the second is a host\r\n" +
	"Address = fd00::2/64\r\n" +
	"DNS = 10.0.0.1, fd00::1, corp.example\r\n" +
	"MTU = 1280\r\n" +
	"ListenPort = 51820\r\n" +
	"FwMark = 0x1\r\n" +
	"Table = off\r\n" +
	"PreUp = echo pre\r\n" +
	"PostUp = iptables -A FORWARD -i %i -j ACCEPT\r\n" +
	"PreDown =\r\n" +
	"PostDown = echo post\r\n" +
	"SaveConfig = true\r\n" +
	"[Peer]\r\n" +
	"PublicKey = " + public + "\r\n" +
	"PresharedKey = " + preshared + "\r\n" +
	"AllowedIPs = 10.0.0.1/32, 10.1.2.3/16\r\n" +
	"AllowedIPs = fd00::/64\r\n" +
	"Endpoint = [2001:db8::1]:51821\r\n" +
	"PersistentKeepalive = 25\r\n" +
	"[Peer]\r\n" +
	"PublicKey = " + second + "\r\n" +
	"AllowedIPs =\r\n" +
	"Endpoint = vpn.example.org:51820\r\n" +
	"PersistentKeepalive = off" // no line's end

func mustKey(t *testing.T, text string) [keyLen]byte {
	t.Helper()
	k, err := parseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func prefixes(all ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, p := range all {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}

func TestParse(t *testing.T) {
	got, err := Parse("wg0.conf", strings.NewReader(provider))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{PrivateKey: mustKey(t, private),
		Addresses: prefixes("10.64.0.2/32", "fc00:bbbb:bbbb:bb01::1:2/128"),
		DNS:       []netip.Addr{netip.MustParseAddr("10.64.0.1")}, MTU: DefaultMTU,
		Peers: []Peer{{PublicKey: mustKey(t, public), AllowedIPs: prefixes("0.0.0.0/0", "::/0"),
			Endpoint: Endpoint{"185.213.154.68", 51820}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	got, err = Parse("wg0.conf", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	want = &Config{PrivateKey: mustKey(t, private),
		Addresses: prefixes("10.0.0.2/24", "10.0.0.3/32", "fd00::2/64"),
		DNS:       []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")},
		Search:    []string{"corp.example"}, MTU: 1280, ListenPort: 51820,
		Peers: []Peer{
			{PublicKey: mustKey(t, public), PresharedKey: mustKey(t, preshared),
				AllowedIPs: prefixes("10.0.0.1/32", "10.1.0.0/16", "fd00::/64"),
				Endpoint:   Endpoint{"2001:db8::1", 51821}, Keepalive: 25},
			{PublicKey: mustKey(t, second), Endpoint: Endpoint{"vpn.example.org", 51820}},
		},
		Notes: []string{
			"wg0.conf:8: FwMark is ignored: nothing is routed on this machine",
			"wg0.conf:9: Table is ignored: nothing is routed on this machine",
			"wg0.conf:10: PreUp is ignored: no command of the file is executed",
			"wg0.conf:11: PostUp is ignored: no command of the file is executed",
			"wg0.conf:12: PreDown is ignored: no command of the file is executed",
			"wg0.conf:13: PostDown is ignored: no command of the file is executed",
			"wg0.conf:14: SaveConfig is ignored: the file is never written",
		}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := got.Peers[0].Endpoint.String(); got != "[2001:db8::1]:51821" {
		t.Errorf("the endpoint is shown as %s", got)
	}
}

// TestParseRefuses has files with mistakes: each is named with its line, and no key is shown.
func TestParseRefuses(t *testing.T) {
	const head = "[Interface]\nPrivateKey = " + private + "\nAddress = 10.0.0.2/24\n"
	const tail = "[Peer]\nPublicKey = " + public + "\nAllowedIPs = 0.0.0.0/0\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f: no [Interface]: this is no file of wg-quick\n" +
			"f: no [Peer]: there is nobody to connect to"},
		{"no peer", head, "f: no [Peer]: there is nobody to connect to"},
		{"no key", "[Interface]\nAddress = 10.0.0.2/24\n" + tail,
			"f:1: [Interface] has no PrivateKey"},
		{"no address", "[Interface]\nPrivateKey = " + private + "\n" + tail,
			"f:1: [Interface] has no Address"},
		{"an empty address", "[Interface]\nPrivateKey = " + private + "\nAddress =\n" + tail,
			"f:3: Address has no value\nf:1: [Interface] has no Address"},
		{"no public key", head + "[Peer]\nAllowedIPs = ::/0\n", "f:4: [Peer] has no PublicKey"},
		{"a short key", head + "[Peer]\nPublicKey = " + public[:40] + "\n",
			"f:5: PublicKey: a key has 44 characters of base64, this has 40"},
		{"a key that is none", head + "[Peer]\nPublicKey = " + strings.Repeat("!", 44) + "\n",
			`f:5: PublicKey: a key has 44 characters of base64, the last of which is "="`},
		{"zeros", head + "[Peer]\nPublicKey = " + strings.Repeat("A", 43) + "=\n",
			"f:5: PublicKey: a key of zeros only"},
		{"before a section", "MTU = 1420\n" + head + tail,
			`f:1: "MTU" stands before the first section: expected [Interface]`},
		{"no =", head + "ListenPort\n" + tail,
			"f:4: expected KEY = VALUE, or a section such as [Peer]"},
		{"a key alone", head + private[:43] + "\n" + tail,
			"f:4: expected KEY = VALUE, or a section such as [Peer]"},
		{"a key as a key", head + private + "\n" + tail,
			"f:4: (a text that is not shown) is not known"},
		{"a key as an address", head + "DNS = " + private + "\n" + tail,
			"f:4: DNS: (a text that is not shown) is not an address"},
		{"unknown", head + "Jc = 4\n" + tail, `f:4: "Jc" is not known`},
		{"of the peer", head + "AllowedIPs = ::/0\n" + tail, "f:4: AllowedIPs belongs to [Peer]"},
		{"of the interface", head + tail + "MTU = 1420\n", "f:7: MTU belongs to [Interface]"},
		{"another section", head + tail + "[Socks5]\nBindAddress = 127.0.0.1:1080\n",
			"f:7: a section that is not known: expected [Interface] or [Peer]; proxies and " +
				"forwards are flags of the command"},
		{"twice", head + "MTU = 1420\nMTU = 1400\n" + tail,
			"f:5: MTU was given already, in line 4"},
		{"two interfaces", head + head + tail, "f:4: a second [Interface]: expected one"},
		{"one peer twice", head + tail + tail, "f:7: the [Peer] in line 4 has the same PublicKey"},
		{"its own peer", head + "[Peer]\nPublicKey = " +
			Secret(mustKey(t, private)).Public().String(),
			"f:4: the PublicKey of this [Peer] is that of [Interface] itself"},
		{"no value", head + "MTU =\n" + tail, "f:4: MTU has no value"},
		{"a small MTU", head + "MTU = 575\n" + tail,
			`f:4: MTU: "575" is not a number from 576 to 65535`},
		{"a small MTU of IPv6", head + "Address = fd00::2\nMTU = 1279\n" + tail,
			"f: an MTU of 1279: IPv6 needs 1280"},
		{"a port", head + "ListenPort = 65536\n" + tail,
			`f:4: ListenPort: "65536" is not a number from 0 to 65535`},
		{"an address", "[Interface]\nPrivateKey = " + private + "\n" +
			"Address = 10.0.0.256/24\n" + tail,
			`f:3: Address: "10.0.0.256/24" is not an address such as 10.0.0.2/24 or fd00::2/64`},
		{"a zone", head + "Address = fe80::1%eth0\n" + tail,
			`f:4: Address: "fe80::1%eth0" is not an address such as 10.0.0.2/24 or fd00::2/64`},
		{"a mapped address", head + "Address = ::ffff:10.0.0.2/120\n" + tail,
			`f:4: Address: "::ffff:10.0.0.2/120": write the IPv4 address itself`},
		{"a group", head + "Address = 224.0.0.1\n" + tail,
			"f:4: Address: 224.0.0.1 cannot be an address of this host"},
		{"a DNS server", head + "DNS = 10.0.0.256\n" + tail,
			`f:4: DNS: "10.0.0.256" is not an address`},
		{"an endpoint without a port", head + tail + "Endpoint = vpn.example.org\n",
			`f:7: Endpoint: "vpn.example.org" is not HOST:PORT, with an IPv6 address in brackets`},
		{"an endpoint without brackets", head + tail + "Endpoint = 2001:db8::1:51820\n",
			`f:7: Endpoint: "2001:db8::1:51820" is not HOST:PORT, with ` +
				`an IPv6 address in brackets`},
		{"an endpoint at port 0", head + tail + "Endpoint = 192.0.2.1:0\n",
			`f:7: Endpoint: "0" is not a number from 1 to 65535`},
		{"a keepalive", head + tail + "PersistentKeepalive = on\n",
			`f:7: PersistentKeepalive: "on" is not a number from 0 to 65535`},
		{"several", head + "MTU = x\nDNS = 1.2.3\n" + tail,
			"f:4: MTU: \"x\" is not a number from 576 to 65535\n" +
				"f:5: DNS: \"1.2.3\" is not an address"},
		{"large", strings.Repeat("# a comment\n", maxFile/12+1),
			"f: more than 1 MiB: this is no file of wg-quick"},
	} {
		config, err := Parse("f", strings.NewReader(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %+v, got\n%v\nwant\n%s", c.name, config, err, c.want)
		}
	}
	broken := errors.New("input/output error")
	if _, err := Parse("f", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

func TestNotes(t *testing.T) {
	const text = "[Interface]\nPrivateKey = " + private + "\nAddress = 10.0.0.2/24\n" +
		"[Peer]\nPublicKey = " + public + "\nAllowedIPs = 0.0.0.0/0\n" +
		"[Peer]\nPublicKey = " + second + "\nAllowedIPs = 10.0.0.0/8, 0.0.0.0/0\n" +
		"[Peer]\nPublicKey = " + preshared + "\n"
	config, err := Parse("f", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"f:9: 0.0.0.0/0 was in AllowedIPs of line 6, too: its packets go to the later peer",
		"f:10: [Peer] has no AllowedIPs: nothing is sent to it"}
	if !reflect.DeepEqual(config.Notes, want) {
		t.Errorf("got %q, want %q", config.Notes, want)
	}
}

func TestDevice(t *testing.T) {
	config, err := Parse("wg0.conf", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	got := config.Device([]netip.AddrPort{{}, netip.MustParseAddrPort("192.0.2.7:51820")})
	want := fmt.Sprintf("private_key=%x\nlisten_port=51820\n"+
		"public_key=%x\npreshared_key=%x\npersistent_keepalive_interval=25\n"+
		"allowed_ip=10.0.0.1/32\nallowed_ip=10.1.0.0/16\nallowed_ip=fd00::/64\n"+
		"public_key=%x\nendpoint=192.0.2.7:51820\npersistent_keepalive_interval=0\n",
		mustKey(t, private), mustKey(t, public), mustKey(t, preshared), mustKey(t, second))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSecretsAreNotPrinted tries every verb of package fmt.
func TestSecretsAreNotPrinted(t *testing.T) {
	config, err := Parse("wg0.conf", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b"} {
		for _, value := range []any{config, *config, config.Peers, config.PrivateKey} {
			text := fmt.Sprintf(verb, value)
			// The first bytes, as text, as hexadecimal digits, and as decimal numbers.
			for _, part := range []string{private[:8], "c809f3", "C809F3", "200 9 243", "0xc8, 0x9",
				preshared[:8], "1690b2", "1690B2", "22 144 178"} {
				if strings.Contains(text, part) {
					t.Errorf("%s of %T shows a secret: %s", verb, value, text)
				}
			}
		}
	}
	if got := config.Peers[0].PublicKey.String(); got != public {
		t.Errorf("the public key is shown as %s", got)
	}
}

// FuzzParse holds that a file gives a configuration that is consistent, or an error, and that no
// message shows anything that looks like a key.
func FuzzParse(f *testing.F) {
	f.Add(provider)
	f.Add(whole)
	f.Add("[Interface]\nPrivateKey = " + private + private + "\nAddress=" + private)
	f.Add("[Peer]\n[Interface]\n[peer]\nEndpoint = " + private + ":1\nMTU\x00 = \n")
	secret := regexp.MustCompile(`[A-Za-z0-9+/]{24,}`)
	f.Fuzz(func(t *testing.T, text string) {
		config, err := Parse("f", strings.NewReader(text))
		messages := fmt.Sprint(err)
		if err == nil {
			messages = strings.Join(config.Notes, "\n")
			if len(config.Addresses) == 0 || len(config.Peers) == 0 || config.MTU < leastMTU ||
				config.PrivateKey == (Secret{}) {
				t.Errorf("%+v", config)
			}
			for _, p := range config.Peers {
				e := p.Endpoint
				if p.PublicKey == (PublicKey{}) || (e.Host == "") != (e.Port == 0) {
					t.Errorf("the peer %+v", p)
				}
			}
			_ = config.Device(make([]netip.AddrPort, len(config.Peers)))
		}
		for _, s := range secret.FindAllString(text, -1) {
			if strings.Contains(messages, s) {
				t.Errorf("%q is shown: %s", s, messages)
			}
		}
	})
}

var _ fmt.Formatter = Secret{}
