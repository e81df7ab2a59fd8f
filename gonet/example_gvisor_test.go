package gonet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/netip"
	"sync"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// newHost makes a stack with one link, one address, and a router to everybody else.
func newHost(l link.Link, address netip.Prefix, router netip.Addr) (*gonet.Stack, error) {
	return gonet.New(gonet.Config{Link: l, Addresses: []netip.Prefix{address},
		Gateways: []netip.Addr{router}})
}

// overChannels makes a link of IP packets that the program passes on: what channel.Endpoint is for.
func overChannels(in <-chan []byte, out chan<- []byte) link.Link {
	closed := make(chan struct{})
	read := func(b []byte) (int, link.GSO, error) {
		select {
		case packet := <-in:
			return copy(b, packet), link.GSO{}, nil
		case <-closed:
			return 0, link.GSO{}, io.EOF
		}
	}
	write := func(_ link.GSO, packet []byte) error {
		select {
		case out <- append([]byte{}, packet...): // the stack uses its memory again
		default: // IP may lose packets
		}
		return nil
	}
	end := sync.OnceFunc(func() { close(closed) })
	return link.NewFuncs(link.Features{MTU: 1420, L3: true}, read, write,
		func() error { end(); return nil })
}

// In place of channel.Endpoint and gVisor's adapter gonet: two hosts whose packets pass through
// channels, a listener and a dial.
func Example_comingFromGVisor() {
	up, down := make(chan []byte, 256), make(chan []byte, 256)
	one, two := netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("10.0.0.2/24")
	client, err := newHost(overChannels(down, up), one, two.Addr())
	if err != nil {
		log.Fatal(err)
	}
	server, err := newHost(overChannels(up, down), two, one.Addr())
	if err != nil {
		log.Fatal(err)
	}
	listener, err := server.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if c, err := listener.Accept(); err == nil {
			fmt.Fprintf(c, "hello, %v", c.RemoteAddr().(interface{ AddrPort() netip.AddrPort }).
				AddrPort().Addr())
			_ = c.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.DialContext(ctx, "tcp", "10.0.0.2:80")
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(c)
	fmt.Printf("%s, %v\n", text, err)
	_ = c.Close()
	fmt.Println(errors.Join(client.Shutdown(ctx), server.Shutdown(ctx)))
	// Output:
	// hello, 10.0.0.1, <nil>
	// <nil>
}
