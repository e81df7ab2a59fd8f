// Package gvisorhost makes hosts with gVisor's netstack on a link in memory.
package gvisorhost

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"interleave/gonet/beside/host"
)

// nic is the number of the only interface.
const nic = 1

// Pair makes two hosts, of IPv4 and IPv6, that are joined by gVisor's own link in memory.
func Pair() (near, far host.Host, err error) {
	a, b := pipe.New("\x02\x00\x00\x00\x00\x01", "\x02\x00\x00\x00\x00\x02", host.MTU)
	if near, err = newHost(a, host.Near); err != nil {
		return near, far, err
	}
	far, err = newHost(b, host.Far)
	return near, far, err
}

func newHost(link stack.LinkEndpoint, addr netip.Addr) (host.Host, error) {
	s := stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol,
			icmp.NewProtocol4, icmp.NewProtocol6},
	})
	sack := tcpip.TCPSACKEnabled(true) // as wireguard-go sets it
	own := tcpip.AddressWithPrefix{Address: tcpip.AddrFrom4(addr.As4()), PrefixLen: host.Bits}
	err := errors.Join(
		failed(s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)),
		failed(s.CreateNIC(nic, link)),
		failed(s.AddProtocolAddress(nic, tcpip.ProtocolAddress{
			Protocol: ipv4.ProtocolNumber, AddressWithPrefix: own,
		}, stack.AddressProperties{})),
	)
	if err != nil {
		return host.Host{}, err
	}
	s.SetRouteTable([]tcpip.Route{{Destination: own.Subnet(), NIC: nic}})
	return host.Host{
		Addr: addr,
		Listen: func(port uint16) (net.Listener, error) {
			return host.Listener(gonet.ListenTCP(s, tcpip.FullAddress{Port: port},
				ipv4.ProtocolNumber))
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return host.Conn(gonet.DialContextTCP(ctx, s, tcpip.FullAddress{NIC: nic,
				Addr: tcpip.AddrFrom4(to.Addr().As4()), Port: to.Port()}, ipv4.ProtocolNumber))
		},
	}, nil
}

// failed is netstack's error as one of Go.
func failed(err tcpip.Error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.String())
}
