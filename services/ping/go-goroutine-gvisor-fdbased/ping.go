// Ping, answered by gVisor's netstack as it is shipped, with its fdbased link on a tap. The link
// reads in one goroutine and hands the frame to another, which answers it: an echo costs two
// wake-ups, and echoes of many pingers use two cores.
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

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/rawfile"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
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
	device, err := openTap(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	mtu, err := rawfile.GetMTU(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	link, err := fdbased.New(&fdbased.Options{
		// locally administered
		FDs: []int{device}, MTU: mtu, EthernetHeader: true, Address: "\x02\x00\x00\x00\x00\x02",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := newHost(link, address, peer); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
}

// openTap attaches to a device that exists; its descriptor goes with the process.
func openTap(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("/dev/net/tun: %w", err)
	}
	device, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	device.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		return 0, fmt.Errorf("%s: attaching: %w", name, err)
	}
	return fd, nil
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
