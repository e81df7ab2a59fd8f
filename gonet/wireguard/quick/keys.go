package quick

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// The least MTU in bytes of each family: RFC 1122 section 3.3.2, RFC 8200 section 5.
const (
	leastMTU  = 576
	leastMTU6 = 1280
)

// key is a key of a section.
type key struct {
	name    string
	list    bool                                // it may be given several times, with commas too
	empty   bool                                // it may be without a value, as wg has it
	parse   func(p *parser, value string) error // nil: the key is ignored
	ignored string                              // why
}

const (
	command = "no command of the file is executed"
	routing = "nothing is routed on this machine"
)

var interfaceKeys = byName(
	key{name: "PrivateKey", parse: func(p *parser, value string) (err error) {
		p.config.PrivateKey, err = parseKey(value)
		return err
	}},
	key{name: "Address", list: true, parse: (*parser).address},
	key{name: "DNS", list: true, empty: true, parse: (*parser).dns},
	key{name: "MTU", parse: func(p *parser, value string) (err error) {
		p.config.MTU, err = number(value, leastMTU)
		return err
	}},
	key{name: "ListenPort", parse: func(p *parser, value string) error {
		n, err := number(value, 0)
		p.config.ListenPort = uint16(n) //nolint:gosec // in the range
		return err
	}},
	key{name: "FwMark", ignored: routing},
	key{name: "Table", ignored: routing},
	key{name: "PreUp", ignored: command},
	key{name: "PostUp", ignored: command},
	key{name: "PreDown", ignored: command},
	key{name: "PostDown", ignored: command},
	key{name: "SaveConfig", ignored: "the file is never written"},
)

var peerKeys = byName(
	key{name: "PublicKey", parse: func(p *parser, value string) (err error) {
		p.peer().PublicKey, err = parseKey(value)
		return err
	}},
	key{name: "PresharedKey", parse: func(p *parser, value string) (err error) {
		p.peer().PresharedKey, err = parseKey(value)
		return err
	}},
	key{name: "AllowedIPs", list: true, empty: true, parse: (*parser).allowedIPs},
	key{name: "Endpoint", parse: func(p *parser, value string) (err error) {
		p.peer().Endpoint, err = endpoint(value)
		return err
	}},
	key{name: "PersistentKeepalive", parse: func(p *parser, value string) error {
		if strings.EqualFold(value, "off") {
			return nil
		}
		n, err := number(value, 0)
		p.peer().Keepalive = uint16(n) //nolint:gosec // in the range
		return err
	}},
)

func byName(keys ...key) map[string]key {
	all := map[string]key{}
	for _, k := range keys {
		all[strings.ToLower(k.name)] = k
	}
	return all
}

// number parses a number of 16 bits with a lower bound.
func number(text string, least int) (int, error) {
	const most = 65535
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is not a number from %d to %d", shown(text), least, most)
	}
	return n, nil
}

// elements calls f with each element of a list.
func elements(value string, f func(text string) error) error {
	if value == "" {
		return nil // wg takes an empty list
	}
	for text := range strings.SplitSeq(value, ",") {
		if err := f(strings.TrimSpace(text)); err != nil {
			return err
		}
	}
	return nil
}

// network parses an address with a prefix length, or without one for a single address.
func network(text string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(text)
	if err != nil {
		a, bad := netip.ParseAddr(text)
		if bad != nil || a.Zone() != "" {
			return n, fmt.Errorf("%s is not an address such as 10.0.0.2/24 or fd00::2/64",
				shown(text))
		}
		n = netip.PrefixFrom(a, a.BitLen())
	}
	if n.Addr().Is4In6() {
		return n, fmt.Errorf("%s: write the IPv4 address itself", shown(text))
	}
	return n, nil
}

func (p *parser) address(value string) error {
	return elements(value, func(text string) error {
		n, err := network(text)
		if err != nil {
			return err
		}
		if a := n.Addr(); a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
			return fmt.Errorf("%v cannot be an address of this host", a)
		}
		p.config.Addresses = append(p.config.Addresses, n)
		return nil
	})
}

// dns takes servers. What is not an address is a search domain, as wg-quick has it.
func (p *parser) dns(value string) error {
	return elements(value, func(text string) error {
		a, err := netip.ParseAddr(text)
		switch {
		case err == nil && a.Zone() == "":
			p.config.DNS = append(p.config.DNS, a.Unmap())
		case err != nil && isDomain(text):
			p.config.Search = append(p.config.Search, text)
		default:
			return fmt.Errorf("%s is not an address", shown(text))
		}
		return nil
	})
}

// isDomain tells whether a text could be a domain. A mistyped address is none.
func isDomain(text string) bool {
	letter := false
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			letter = true
		case r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_':
		default:
			return false
		}
	}
	return letter
}

func (p *parser) allowedIPs(value string) error {
	return elements(value, func(text string) error {
		n, err := network(text)
		if err != nil {
			return err
		}
		n = n.Masked() // as wg does
		// The same network of two peers belongs to the later one.
		if first := p.routes[n]; first != 0 && first < p.opened {
			p.note(p.line, "%v was in AllowedIPs of line %d, too: its packets go to the later peer",
				n, first)
		}
		p.routes[n] = p.line
		p.peer().AllowedIPs = append(p.peer().AllowedIPs, n)
		return nil
	})
}

func endpoint(value string) (Endpoint, error) {
	host, port, err := net.SplitHostPort(value)
	if err != nil || host == "" || strings.ContainsAny(host, " \t/,[]") {
		return Endpoint{}, fmt.Errorf("%s is not HOST:PORT, with an IPv6 address in brackets",
			shown(value))
	}
	n, err := number(port, 1)
	if err != nil {
		return Endpoint{}, err
	}
	return Endpoint{host, uint16(n)}, nil //nolint:gosec // in the range
}
