package gonet_test

import (
	"fmt"
	"log"
	"net/netip"

	"interleave/gonet"
)

// echo sends back what it receives, and serves any number of connections. A peer that sends and
// does not read is slowed down: what Send has no room for is not taken, and offered again when
// there is some.
type echo struct{ gonet.AsyncBase }

func (echo) Received(c *gonet.AsyncConn, data []byte) int {
	n, _ := c.Send(data) // if it has failed, Closed follows
	return n
}

func (echo) Writable(c *gonet.AsyncConn) { c.Resume() }

// greeter sends a line, closes its direction, and prints what comes back.
type greeter struct {
	gonet.AsyncBase
	closed chan error
}

func (greeter) Connected(c *gonet.AsyncConn) {
	_, _ = c.Send([]byte("hello\n")) // the send buffer of a new connection has room for it
	_ = c.CloseWrite()
}

func (greeter) Received(_ *gonet.AsyncConn, data []byte) int {
	fmt.Printf("%s", data)
	return len(data)
}

func (g greeter) Closed(_ *gonet.AsyncConn, err error) { g.closed <- err }

// A server and a client of callbacks: no goroutine waits for either.
func ExampleStack_ListenAsync() {
	client, server := hosts()
	defer client.Close()
	defer server.Close()
	l, err := server.ListenAsync("tcp", ":7",
		func(*gonet.AsyncConn) gonet.AsyncHandler { return echo{} })
	if err != nil {
		log.Fatal(err)
	}
	to := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), l.Addr().Port())
	g := greeter{closed: make(chan error, 1)}
	if _, err := client.DialAsync(netip.AddrPort{}, to, g); err != nil {
		log.Fatal(err)
	}
	fmt.Println("closed:", <-g.closed)
	// Output:
	// hello
	// closed: <nil>
}
