//go:build darwin || freebsd || linux || openbsd

package gonet_test

import (
	"log"
	"net/http"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/ip"
	"interleave/gonet/link"
)

// A web server on a tun, which carries IP packets without Ethernet, as a VPN does. Each address is
// alone in its network, and the kernel is the way to everything else. The empty name takes any tun
// on each system that has them. Then the kernel's side needs its address:
//
//	ip addr add 10.9.0.1 peer 10.9.0.2 dev tun0; ip link set tun0 up   # Linux
//	ifconfig utun5 10.9.0.1 10.9.0.2 up                                # macOS, FreeBSD, OpenBSD
func Example_tun() {
	tun, err := link.OpenTun("")
	if err != nil {
		log.Fatal(err)
	}
	stack, err := gonet.New(gonet.Config{Link: tun,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/32"),
			netip.MustParsePrefix("fd09::2/128")},
		Routes: []ip.Route{{Network: netip.MustParsePrefix("0.0.0.0/0")},
			{Network: netip.MustParsePrefix("::/0")}},
		NoAutoconf: true})
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
