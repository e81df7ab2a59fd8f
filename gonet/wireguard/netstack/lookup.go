package netstack

import (
	"context"
	"net/netip"
)

// A name is asked of the tunnel's servers only. Go's own resolver would read the hosts file and the
// search domains of this machine, which belong to another network.

// LookupHost is LookupContextHost without a context.
func (n *Net) LookupHost(host string) ([]string, error) {
	return n.LookupContextHost(context.Background(), host)
}

// LookupContextHost returns the addresses of a name: those of IPv6 first, if the stack has an
// address of that family. An address is returned as it is.
func (n *Net) LookupContextHost(ctx context.Context, host string) ([]string, error) {
	return n.resolver.LookupHost(ctx, host)
}

// SetSearch sets the domains in which names without a dot are looked up first. It must be called
// before names are looked up. wireguard-go's package netstack has none.
func (n *Net) SetSearch(domains ...string) { n.resolver.Search = domains }

// LookupNetIP is LookupContextHost for a network: "ip", or "ip4" or "ip6" for one family. It
// returns at least one address, or an error. It makes Net a gonet.Resolver.
func (n *Net) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return n.resolver.LookupNetIP(ctx, network, host)
}
