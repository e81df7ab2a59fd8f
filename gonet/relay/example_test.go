package relay_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"

	"interleave/gonet/relay"
)

// A port forward of TCP: at most 100 clients at once, and the end of each direction is passed on.
func ExampleJoin() {
	backend, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	go func() {
		c, err := backend.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		question, _ := io.ReadAll(c) // up to the end that the client sends
		fmt.Fprintf(c, "%d bytes", len(question))
	}()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() {
		served <- relay.Serve(ctx, relay.Limit(l, 100), func(ctx context.Context, near net.Conn) {
			var d net.Dialer
			far, err := d.DialContext(ctx, "tcp", backend.Addr().String())
			if err != nil {
				relay.Reset(near)
				return
			}
			_ = relay.Join(ctx, near, far) // both ends have seen the error
		})
	}()

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(c, "how long is this?")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		log.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	fmt.Printf("%s, %v\n", answer, err)
	_ = c.Close()
	cancel()
	fmt.Println(<-served)
	// Output:
	// 17 bytes, <nil>
	// <nil>
}

// A port forward of UDP: each client has a socket of its own to the destination.
func ExampleFlows() {
	backend, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := backend.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = backend.WriteTo(append([]byte("you said "), b[:n]...), from)
		}
	}()

	in, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	flows := relay.Flows{Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", backend.LocalAddr().String())
	}}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- flows.Serve(ctx, in) }()

	c, err := net.Dial("udp", in.LocalAddr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(c, "hello")
	b := make([]byte, 1500)
	n, err := c.Read(b)
	fmt.Printf("%s, %v\n", b[:n], err)
	_ = c.Close()
	cancel()
	fmt.Println(<-served)
	// Output:
	// you said hello, <nil>
	// <nil>
}
