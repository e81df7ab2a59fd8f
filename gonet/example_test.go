package gonet_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"

	"interleave/gonet"
	"interleave/gonet/link"
)

// Two hosts on one wire in memory. With link.OpenTap in its place a host runs beside the kernel.
func ExampleNew() {
	near, far := link.Pair()
	server, _ := gonet.New(gonet.Config{Link: far,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	client, _ := gonet.New(gonet.Config{Link: near,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	l, _ := server.Listen("tcp", ":80")
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprint(w, "hello from a stack of its own")
	}))

	browser := http.Client{Transport: &http.Transport{DialContext: client.DialContext}}
	r, err := browser.Get("http://10.0.0.2/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	_, _ = io.Copy(os.Stdout, r.Body)
	// Output: hello from a stack of its own
}
