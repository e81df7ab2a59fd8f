// Command gvisor says hello over HTTP, between two hosts of gVisor on a link in memory.
package main

import (
	"context"
	"log"
	"net"
	"net/netip"

	"interleave/gonet/beside/hello"
	"interleave/gonet/beside/host/gvisorhost"
)

func main() {
	near, far, err := gvisorhost.Pair()
	if err != nil {
		log.Fatal(err)
	}
	l, err := far.Listen(80)
	if err != nil {
		log.Fatal(err)
	}
	err = hello.Run(l, func() (net.Conn, error) {
		return near.Dial(context.Background(), netip.AddrPortFrom(far.Addr, 80))
	})
	if err != nil {
		log.Fatal(err)
	}
}
