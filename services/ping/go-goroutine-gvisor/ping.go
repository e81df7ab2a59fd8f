// Ping, answered by gVisor's netstack on a link of ours: the goroutine that reads a frame walks up
// the stack with it, and down again with the answer, so an echo costs one wake-up. Offloads would
// not help: nothing here is larger than an MTU.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		usage(nil)
	}
	address, err := netip.ParsePrefix(os.Args[2])
	if err != nil {
		usage(err)
	}
	peer, err := netip.ParseAddr(os.Args[3])
	if err != nil {
		usage(err)
	}
	if !address.Addr().Is4() || !peer.Is4() {
		usage(fmt.Errorf("%v and %v: addresses of IPv4 are needed", address, peer))
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	link, err := openTap(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := newHost(link, address, peer); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
	link.Close()
}

// nic is the number of the only interface.
const nic = 1

// newHost starts a stack with one link, one address, and a default route.
func newHost(link stack.LinkEndpoint, address netip.Prefix, peer netip.Addr) error {
	host := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{arp.NewProtocol, ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{icmp.NewProtocol4},
	})
	own := tcpip.AddressWithPrefix{Address: tcpip.AddrFrom4(address.Addr().As4()),
		PrefixLen: address.Bits()}
	if err := errors.Join(
		failed(host.CreateNIC(nic, link)),
		failed(host.AddProtocolAddress(nic, tcpip.ProtocolAddress{
			Protocol: ipv4.ProtocolNumber, AddressWithPrefix: own,
		}, stack.AddressProperties{})),
	); err != nil {
		return err
	}
	host.SetRouteTable([]tcpip.Route{
		{Destination: own.Subnet(), NIC: nic},
		{Destination: header.IPv4EmptySubnet, Gateway: tcpip.AddrFrom4(peer.As4()), NIC: nic},
	})
	return nil
}

// failed is netstack's error as one of Go.
func failed(err tcpip.Error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.String())
}

func usage(err error) {
	if err != nil {
		log.Print("ping DEVICE ADDRESS/LEN PEER: ", err)
	} else {
		log.Print("usage: ping DEVICE ADDRESS/LEN PEER")
	}
	os.Exit(2)
}
