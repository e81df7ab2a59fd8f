package slirp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/slirp"
)

// begin starts a Slirp for a guest at the other end of a link. The function that it returns ends
// it.
func begin(gateway link.Link) (s *slirp.Slirp, network slirp.Network, end func() error) {
	network, err := slirp.NewNetwork(netip.MustParsePrefix("10.0.2.0/24"), false)
	if err != nil {
		log.Fatal(err)
	}
	s, err = slirp.New(slirp.Config{Link: gateway, Network: network, Host: slirp.Kernel{}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.Serve(ctx) }()
	return s, network, func() error {
		cancel()
		return <-served
	}
}

// A guest connects to the gateway's address, which is the loopback of the host, and its connection
// is made anew by a socket of the host. The guest is a stack at the other end of a wire in memory;
// in its place may be a tap in a network namespace, or a machine of QEMU.
func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "hello from the host")
			_ = c.Close()
		}
	}()

	wire, gateway := link.Pair()
	s, network, end := begin(gateway)
	guest, err := gonet.New(gonet.Config{Link: wire,
		Addresses: []netip.Prefix{netip.PrefixFrom(network.Guest, network.Prefix.Bits())},
		Gateways:  []netip.Addr{network.Gateway}})
	if err != nil {
		log.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	c, err := guest.Dial("tcp", netip.AddrPortFrom(network.Gateway, port).String())
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(c)
	fmt.Printf("%s, %v\n", text, err)
	fmt.Println(s.Stats().Connections, "connection")
	fmt.Println(errors.Join(c.Close(), guest.Close(), end()))
	// Output:
	// hello from the host, <nil>
	// 1 connection
	// <nil>
}

// The API of slirp4netns at a Unix socket: a request in JSON, and its answer.
func ExampleSlirp_ServeAPI() {
	_, gateway := link.Pair()
	s, _, end := begin(gateway)
	folder, err := os.MkdirTemp("", "api")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	l, err := net.Listen("unix", filepath.Join(folder, "slirp.sock"))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.ServeAPI(ctx, l) }()

	for _, request := range []string{
		`{"execute": "list_hostfwd"}`,
		`{"execute": "add_hostfwd", "arguments": {"proto": "tcp", "host_port": 70000}}`,
	} {
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprint(c, request)
		answer, err := io.ReadAll(c)
		fmt.Printf("%s %v\n", answer, err)
		_ = c.Close()
	}
	cancel()
	fmt.Println(errors.Join(<-served, end()))
	// Output:
	// {"entries":[],"return":{"entries":[]}} <nil>
	// {"error":{"desc":"bad request: add_hostfwd: bad arguments.host_port"}} <nil>
	// <nil>
}
