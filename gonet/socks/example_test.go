package socks_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"

	"interleave/gonet/relay"
	"interleave/gonet/socks"
)

// serve serves SOCKS5 at a free port of the loopback, for one user. The function that it returns
// ends the server.
func serve() (address string, end func() error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var direct net.Dialer
	server := socks.Server{Dial: direct.DialContext,
		Login: relay.Login{User: "ada", Password: "secret"}}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- server.Serve(ctx, l) }()
	return l.Addr().String(), func() error {
		cancel()
		return <-served
	}
}

// An HTTP client that goes through a SOCKS5 server.
func ExampleDialer() {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello through a proxy")
	}))
	defer page.Close()
	address, end := serve()
	d := socks.Dialer{Server: address, User: "ada", Password: "secret"}
	transport := &http.Transport{DialContext: d.DialContext}
	r, err := (&http.Client{Transport: transport}).Get(page.URL)
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	fmt.Printf("%s, %v\n", text, err)
	transport.CloseIdleConnections()
	fmt.Println(end())
	// Output:
	// hello through a proxy, <nil>
	// <nil>
}

// A program asks at its start whether the server can be used.
func ExampleDialer_Check() {
	address, end := serve()
	for _, password := range []string{"secret", "guess"} {
		d := socks.Dialer{Server: address, User: "ada", Password: password}
		fmt.Println(d.Check(context.Background()) == nil)
	}
	fmt.Println(end())
	// Output:
	// true
	// false
	// <nil>
}
