package tun2socks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/socks"
	"interleave/gonet/tun2socks"
)

// serveSocks is a SOCKS5 server at a free port of the loopback. It prints what it is asked for, and
// connects to a server of its own, whatever that is.
func serveSocks(ctx context.Context) (address string, served <-chan error) {
	hello, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = hello.Close() })
	go func() {
		for {
			c, err := hello.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "hello")
			_ = c.Close()
		}
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := socks.Server{Dial: func(ctx context.Context, _, to string) (net.Conn, error) {
		fmt.Println("asked for", to)
		var d net.Dialer
		return d.DialContext(ctx, "tcp", hello.Addr().String())
	}}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	return l.Addr().String(), ended
}

// What a host dials, at any address, goes through a SOCKS5 server. The host is a stack at the other
// end of a wire of IP packets; in its place may be the kernel behind a tun.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	address, served := serveSocks(ctx)
	wire, tun := link.Pair(link.L3()) // link.OpenTun leads to the kernel
	router, err := gonet.New(gonet.Config{Link: tun,
		Addresses:   []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")},
		Promiscuous: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}})
	if err != nil {
		log.Fatal(err)
	}
	proxy, err := tun2socks.New(tun2socks.Config{Stack: router,
		Server: &socks.Dialer{Server: address}})
	if err != nil {
		log.Fatal(err)
	}
	proxied := make(chan error, 1)
	go func() { proxied <- proxy.Serve(ctx) }()

	host, err := gonet.New(gonet.Config{Link: wire,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")},
		Gateways:  []netip.Addr{netip.MustParseAddr("10.0.0.2")}})
	if err != nil {
		log.Fatal(err)
	}
	c, err := host.Dial("tcp", "198.51.100.7:80")
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(c)
	fmt.Printf("%s, %v\n", text, err)
	err = errors.Join(c.Close(), host.Close())
	cancel()
	fmt.Println(errors.Join(err, <-proxied, <-served, router.Close()))
	// Output:
	// asked for 198.51.100.7:80
	// hello, <nil>
	// <nil>
}
