package gonet_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"time"

	"interleave/gonet"
	"interleave/gonet/dhcp"
	"interleave/gonet/link"
	"interleave/gonet/wire"
)

// A web server with a stack of its own on a tap of Linux. It needs CAP_NET_ADMIN, and the kernel's
// side of the tap: ip addr add 10.9.0.1/24 dev gonet0; ip link set gonet0 up.
func Example_tap() {
	tap, err := link.OpenTap("gonet0")
	if err != nil {
		log.Fatal(err)
	}
	stack, err := gonet.New(gonet.Config{Link: tap,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")},
		Gateways:  []netip.Addr{netip.MustParseAddr("10.9.0.1")}})
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close()
	l, err := stack.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(l, http.FileServer(http.Dir("."))))
}

// A host that gets its address from a server of DHCP. The client is the link of the stack.
func Example_dhcp() {
	tap, err := link.OpenTap("gonet0")
	if err != nil {
		log.Fatal(err)
	}
	mac := wire.MAC{2, 0, 0, 0, 0, 1} // locally administered
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := dhcp.Acquire(ctx, tap, dhcp.Config{MAC: mac})
	if err != nil {
		log.Fatal(err)
	}
	lease := client.Lease()
	stack, err := gonet.New(gonet.Config{Link: client, MAC: mac,
		Addresses: []netip.Prefix{lease.Address}, Gateways: []netip.Addr{lease.Router}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("this host is", stack.Addresses())
	<-client.Lost() // the address may not be used any more
	_ = stack.Close()
}
