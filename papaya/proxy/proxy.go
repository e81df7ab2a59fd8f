// Package proxy reads what a reverse proxy says of the client behind it: in the headers
// X-Forwarded-For and Forwarded (RFC 7239) of a request, or in the header of the PROXY protocol
// that begins a connection.
//
// Anybody can write such a header, so only those of known proxies are believed.
package proxy

import (
	"fmt"
	"net/netip"
	"strings"
)

// Networks are the addresses of the proxies that are believed.
type Networks []netip.Prefix

// ParseNetworks parses addresses and networks, such as 127.0.0.1, 192.0.2.0/24 and 2001:db8::/32.
func ParseNetworks(words []string) (Networks, error) {
	var all Networks
	for _, word := range words {
		network, err := netip.ParsePrefix(word)
		if !strings.Contains(word, "/") {
			var a netip.Addr
			if a, err = netip.ParseAddr(word); err == nil && a.Zone() == "" {
				network = netip.PrefixFrom(a, a.BitLen())
			}
		}
		if err != nil || !network.IsValid() || network.Addr().Is4In6() {
			return nil, fmt.Errorf("expected an address or a network as 192.0.2.0/24, got %q", word)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// Contains says whether an address belongs to a proxy that is believed.
func (n Networks) Contains(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, network := range n {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// A Client is what proxies say of a client.
type Client struct {
	Address netip.AddrPort // the port is 0 where they do not tell it
	Secure  bool           // its connection, and each one on the way here, is encrypted
}

// A hop is a client as one proxy of a chain has seen it.
type hop struct {
	address string // as the proxy has written it
	secure  bool   // this connection is encrypted
}

// last returns the client of a chain, whose last hop is the nearest. A proxy names whoever has
// connected to it, so a hop counts as long as all hops after it are proxies that are believed. What
// stands before an unknown address is that client's own claim, and need not be an address. A hop
// that counts and whose address is hidden or unknown is an error.
func (n Networks) last(hops []hop) (Client, error) {
	c := Client{Secure: true}
	for i := len(hops) - 1; i >= 0; i-- {
		address, err := parseAddress(hops[i].address)
		if err != nil {
			return Client{}, err
		}
		c.Address, c.Secure = address, c.Secure && hops[i].secure
		if !n.Contains(address.Addr()) {
			break
		}
	}
	return c, nil
}

// parseAddress parses an address with or without a port: 192.0.2.1, 192.0.2.1:80, [2001:db8::1]:80,
// [2001:db8::1] and 2001:db8::1.
func parseAddress(word string) (netip.AddrPort, error) {
	if ap, err := netip.ParseAddrPort(word); err == nil {
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
	}
	bare, bracketed := strings.CutPrefix(word, "[")
	if bracketed {
		var closed bool
		if bare, closed = strings.CutSuffix(bare, "]"); !closed || !strings.Contains(bare, ":") {
			return netip.AddrPort{}, fmt.Errorf("not an address: %q", word)
		}
	}
	a, err := netip.ParseAddr(bare)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("not an address: %q", word)
	}
	return netip.AddrPortFrom(a.Unmap(), 0), nil
}
