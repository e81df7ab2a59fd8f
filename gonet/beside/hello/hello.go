// Package hello is the program of which the size is compared: a server of HTTP, and a client that
// asks it once.
package hello

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

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
