package gonet_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/link"
)

// guestAndRouter makes a guest, 10.0.0.1, on a wire without Ethernet, and its router, which takes
// packets to all addresses.
func guestAndRouter() (guest, router *gonet.Stack) {
	near, far := link.Pair(link.L3())
	guest, err := gonet.New(gonet.Config{Link: near,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")},
		Gateways:  []netip.Addr{netip.MustParseAddr("10.0.0.2")}})
	if err != nil {
		log.Fatal(err)
	}
	router, err = gonet.New(gonet.Config{Link: far,
		Addresses:   []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")},
		Promiscuous: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}})
	if err != nil {
		log.Fatal(err)
	}
	return guest, router
}

// A proxy for all connections of a guest: the program sees where each goes, before it is answered.
func ExampleStack_ForwardTCP() {
	guest, router := guestAndRouter()
	defer guest.Close()
	defer router.Close()
	err := router.ForwardTCP(func(r *gonet.TCPRequest) {
		if r.Destination().Port() != 80 {
			r.Refuse()
			return
		}
		c, err := r.Accept()
		if err != nil {
			return // the client has gone
		}
		defer c.Close()
		fmt.Fprintf(c, "you wanted %v", c.LocalAddr())
	})
	if err != nil {
		log.Fatal(err)
	}

	c, err := guest.Dial("tcp", "198.51.100.7:80")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	fmt.Printf("%s, %v\n", text, err)
	_, err = guest.Dial("tcp", "198.51.100.7:25")
	fmt.Println(err)
	// Output:
	// you wanted 198.51.100.7:80, <nil>
	// dial tcp 198.51.100.7:25: connect: connection refused
}

// Datagrams to all addresses, by flows: one for each socket and destination.
func ExampleStack_ForwardUDP() {
	guest, router := guestAndRouter()
	defer guest.Close()
	defer router.Close()
	err := router.ForwardUDP(func(w *gonet.UDPFlow) {
		b := make([]byte, 1500)
		for { // until the flow has been idle for ForwardConfig.FlowIdle
			n, err := w.Read(b)
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "%s to %v", b[:n], w.Destination()); err != nil {
				return
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}

	for _, to := range []string{"198.51.100.7:53", "203.0.113.9:123"} {
		c, err := guest.Dial("udp", to)
		if err != nil {
			log.Fatal(err)
		}
		ask(c)
		_ = c.Close()
	}
	// Output:
	// hello to 198.51.100.7:53
	// hello to 203.0.113.9:123
}

// ask sends a datagram and prints the answer.
func ask(c net.Conn) {
	if _, err := c.Write([]byte("hello")); err != nil {
		log.Fatal(err)
	}
	b := make([]byte, 1500)
	n, err := c.Read(b)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", b[:n])
}
