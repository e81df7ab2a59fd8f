// Package hello is the program of which the size is compared: a server of HTTP, and a client that
// asks it once.
package hello

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"

	"interleave/gonet/beside/host"
)

// Between serves and gets a page between two hosts, which pair makes.
func Between(pair func() (near, far host.Host, err error)) error {
	near, far, err := pair()
	if err != nil {
		return err
	}
	l, err := far.Listen(80)
	if err != nil {
		return err
	}
	return Run(l, func() (net.Conn, error) {
		return near.Dial(context.Background(), netip.AddrPortFrom(far.Addr, 80))
	})
}

// Run serves HTTP at a listener, asks for a page over the connection that dial makes, and prints
// the response.
func Run(l net.Listener, dial func() (net.Conn, error)) error {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "hello")
	})
	go func() { _ = http.Serve(l, page) }() // until the program ends
	c, err := dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	response, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	fmt.Printf("%s", response)
	return nil
}
