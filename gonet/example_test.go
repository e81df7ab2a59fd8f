package gonet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

// hosts makes two hosts, 10.0.0.1 and 10.0.0.2, at the ends of a wire in memory.
func hosts() (client, server *gonet.Stack) {
	host := func(l link.Link, address string) *gonet.Stack {
		s, err := gonet.New(gonet.Config{Link: l,
			Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
		if err != nil {
			log.Fatal(err)
		}
		return s
	}
	near, far := link.Pair()
	return host(near, "10.0.0.1/24"), host(far, "10.0.0.2/24")
}

// A host at one end of a wire in memory, and another at the other end that pings it.
func Example() {
	near, far := link.Pair() // a wire between two hosts; link.OpenTun leads to the kernel
	host, err := gonet.New(gonet.Config{Link: near,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := host.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())

	other, err := gonet.New(gonet.Config{Link: far,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = other.Ping(context.Background(), netip.MustParseAddr("10.0.0.1"), 56)
	fmt.Println(errors.Join(err, other.Close(), host.Close()))
	// Output:
	// [::]:80
	// <nil>
}

// Two hosts on one wire in memory. With link.OpenTap in its place a host runs beside the kernel.
func ExampleNew() {
	near, far := link.Pair()
	server, _ := gonet.New(gonet.Config{Link: far,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}})
	client, _ := gonet.New(gonet.Config{Link: near,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	l, _ := server.Listen("tcp", ":80")
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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

// A server that sends back what it receives.
func ExampleStack_Listen() {
	client, server := hosts()
	defer client.Close()
	l, err := server.Listen("tcp", ":7")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the listener or its stack was closed
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()

	c, err := client.Dial("tcp", "10.0.0.2:7")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "hello")
	answer := make([]byte, 5)
	_, err = io.ReadFull(c, answer)
	fmt.Printf("%s, %v\n", answer, err)
	// Output: hello, <nil>
}

// Errors are those of package net: here nobody listens at the port.
func ExampleStack_DialContext() {
	client, _ := hosts()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := client.DialContext(ctx, "tcp", "10.0.0.2:80")
	fmt.Println(err)
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	// Output:
	// dial tcp 10.0.0.2:80: connect: connection refused
	// true
}

// A datagram of UDP and its answer.
func ExampleStack_ListenPacket() {
	client, server := hosts()
	defer client.Close()
	socket, err := server.ListenPacket("udp", ":7")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(b[:n], from)
		}
	}()

	c, err := client.Dial("udp", "10.0.0.2:7")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "hello")
	b := make([]byte, 1500)
	n, err := c.Read(b)
	fmt.Printf("%s, %v\n", b[:n], err)
	// Output: hello, <nil>
}

func ExampleStack_Ping() {
	client, _ := hosts()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := client.Ping(ctx, netip.MustParseAddr("10.0.0.2"), 56)
	fmt.Println(err)
	// Output: <nil>
}

// CloseWrite tells the peer that nothing more will come; its answer can still be read.
func ExampleConn_CloseWrite() {
	client, server := hosts()
	defer client.Close()
	l, err := server.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		question, _ := io.ReadAll(c)
		fmt.Fprintf(c, "%d bytes", len(question))
	}()

	c, err := client.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "how long is this?")
	if err := c.(*gonet.Conn).CloseWrite(); err != nil {
		log.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	fmt.Printf("%s, %v\n", answer, err)
	// Output: 17 bytes, <nil>
}

// Abort resets a connection, as SetLinger(0) and Close do in package net.
func ExampleConn_Abort() {
	client, server := hosts()
	defer client.Close()
	l, err := server.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Read(make([]byte, 1)) // a reset before that would end the client's Dial
		_ = c.(*gonet.Conn).Abort()
	}()

	c, err := client.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(c, "x")
	_, err = c.Read(make([]byte, 1))
	fmt.Println(errors.Is(err, syscall.ECONNRESET))
	// Output: true
}

// A snapshot has what `ss` would show: who listens, and each connection.
func ExampleStack_Snapshot() {
	client, server := hosts()
	defer client.Close()
	l, err := server.Listen("tcp", "10.0.0.2:80")
	if err != nil {
		log.Fatal(err)
	}
	if _, err = client.Dial("tcp", "10.0.0.2:80"); err != nil {
		log.Fatal(err)
	}
	if _, err = l.Accept(); err != nil {
		log.Fatal(err)
	}
	s, err := server.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening:", s.Listeners)
	for _, c := range s.Conns {
		fmt.Println(c.State, c.Local, c.Remote.Addr())
	}
	// Output:
	// listening: [10.0.0.2:80]
	// ESTABLISHED 10.0.0.2:80 10.0.0.1
}
