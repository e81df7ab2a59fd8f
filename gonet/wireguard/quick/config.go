// Package quick reads the files of wg-quick: what a provider of a VPN hands out as wg0.conf. It
// does no input or output of its own, and looks up no names.
package quick

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Config is what a file says.
type Config struct {
	PrivateKey Secret
	Addresses  []netip.Prefix // of this host in the tunnel
	DNS        []netip.Addr   // servers in the tunnel
	Search     []string       // domains in which names without a dot are looked up
	MTU        int            // in bytes
	ListenPort uint16         // the UDP port of this host; 0: any
	Peers      []Peer
	// Notes are what is ignored or looks like a mistake, each with file and line.
	Notes []string
}

// DefaultMTU is that of wg-quick for a path of 1500 bytes: less 80 for IPv6, UDP and WireGuard.
const DefaultMTU = 1420

// Peer is a [Peer] of a file.
type Peer struct {
	PublicKey    PublicKey
	PresharedKey Secret // zero: none
	AllowedIPs   []netip.Prefix
	Endpoint     Endpoint
	Keepalive    uint16 // in seconds; 0: off
}

// Endpoint is where a peer's datagrams go: an address or a name, and a port. The zero value is no
// endpoint: such a peer has to send first.
type Endpoint struct {
	Host string
	Port uint16
}

// String returns "host:port".
func (e Endpoint) String() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// Device returns the configuration in the words of wireguard-go's configuration protocol. endpoints
// has an address for each peer; an invalid one is left out.
//
// The result contains the secrets.
func (c *Config) Device(endpoints []netip.AddrPort) string {
	var b strings.Builder
	line := func(key, format string, value any) { fmt.Fprintf(&b, key+"="+format+"\n", value) }
	line("private_key", "%s", hexadecimal(c.PrivateKey))
	line("listen_port", "%d", c.ListenPort)
	for i, p := range c.Peers {
		line("public_key", "%s", hexadecimal(p.PublicKey))
		if p.PresharedKey != (Secret{}) {
			line("preshared_key", "%s", hexadecimal(p.PresharedKey))
		}
		if endpoints[i].IsValid() {
			line("endpoint", "%s", endpoints[i])
		}
		line("persistent_keepalive_interval", "%d", p.Keepalive)
		for _, a := range p.AllowedIPs {
			line("allowed_ip", "%s", a)
		}
	}
	return b.String()
}
