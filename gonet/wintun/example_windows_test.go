package wintun_test

import (
	"log"
	"net/http"
	"net/netip"

	"interleave/gonet"
	"interleave/gonet/ip"
	"interleave/gonet/wintun"
)

// A web server with a stack of its own. Windows reaches it once the adapter has an address: netsh
// interface ipv4 set address GoNet static 10.9.0.1/24.
func ExampleOpen() {
	adapter, err := wintun.Open("GoNet", 1420)
	if err != nil {
		log.Fatal(err)
	}
	stack, err := gonet.New(gonet.Config{Link: adapter,
		Addresses:  []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")},
		Routes:     []ip.Route{{Network: netip.MustParsePrefix("0.0.0.0/0")}},
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
