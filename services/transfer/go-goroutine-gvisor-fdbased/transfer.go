// Transfers over gVisor's netstack as it is shipped, with its fdbased link on a tap. A goroutine
// for each client, and code that reads like that of package net; the link moves a frame of one MTU
// with each call, and hands it to a goroutine. Its loopback is that of go-goroutine-gvisor, where
// no link of ours is in the way either.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	gvisor "gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/rawfile"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// chunk is in bytes, a multiple of 251.
const chunk = 261 * 251

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
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
	port := number(os.Args[4], 65534)
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
	host, err := newHost(link, address, peer)
	if err != nil {
		log.Fatal(err)
	}
	for i, serve := range []func(net.Conn){discard, generate} {
		listener, err := gonet.ListenTCP(host, tcpip.FullAddress{Port: uint16(port + i)},
			ipv4.ProtocolNumber)
		if err != nil {
			log.Fatal(err)
		}
		go accept(listener, serve)
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

// newHost is a stack with one link, one address, and a default route. As shipped it has SACK and
// RACK, buffers of 1 MiB that grow to 4, and Reno, which matters little on a link without loss.
func newHost(link stack.LinkEndpoint, address netip.Prefix, peer netip.Addr) (*stack.Stack, error) {
	// any client can provoke its warnings
	gvisor.SetTarget(gvisor.GoogleEmitter{Writer: &gvisor.Writer{Next: io.Discard}})
	host := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{arp.NewProtocol, ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, icmp.NewProtocol4},
	})
	own := tcpip.AddressWithPrefix{Address: tcpip.AddrFrom4(address.Addr().As4()),
		PrefixLen: address.Bits()}
	if err := errors.Join(
		failed(host.CreateNIC(nic, link)),
		failed(host.AddProtocolAddress(nic, tcpip.ProtocolAddress{
			Protocol: ipv4.ProtocolNumber, AddressWithPrefix: own,
		}, stack.AddressProperties{})),
	); err != nil {
		return nil, err
	}
	host.SetRouteTable([]tcpip.Route{
		{Destination: own.Subnet(), NIC: nic},
		{Destination: header.IPv4EmptySubnet, Gateway: tcpip.AddrFrom4(peer.As4()), NIC: nic},
	})
	return host, nil
}

// failed is netstack's error as one of Go.
func failed(err tcpip.Error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.String())
}

// accept ends with the stack.
func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(client)
	}
}

// buffers serve connections one after the other: a short one must not cost more memory than
// it brings bytes.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// discard reads until the client's end of file, and closes then (RFC 863).
func discard(client net.Conn) {
	defer client.Close()
	buf := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buf)
	for {
		if _, err := client.Read(buf[:]); err != nil {
			return
		}
	}
}

// pattern is the data that generate repeats: the byte at i is i mod 251.
var pattern = func() (p [chunk]byte) {
	for i := range p {
		p[i] = byte(i % 251)
	}
	return p
}()

// generate sends until the client has gone (RFC 864).
func generate(client net.Conn) {
	defer client.Close()
	for {
		if _, err := client.Write(pattern[:]); err != nil {
			return
		}
	}
}

// number is an argument from 1 to most.
func number(text string, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		usage(fmt.Errorf("got %q, want a number from 1 to %d", text, most))
	}
	return n
}

func usage(err error) {
	if err != nil {
		log.Print("transfer: ", err)
	} else {
		log.Print("usage: transfer DEVICE ADDRESS/LEN PEER PORT")
	}
	os.Exit(2)
}
