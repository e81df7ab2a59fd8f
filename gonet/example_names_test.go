package gonet_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"interleave/gonet"
)

// answerNames is a server of DNS that knows one name: www.example. is 10.0.0.2.
func answerNames(socket net.PacketConn) {
	b := make([]byte, 512)
	for {
		n, from, err := socket.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Additionals = true, nil
		if q.Name.String() != "www.example." {
			m.RCode = dnsmessage.RCodeNameError
		} else if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte{10, 0, 0, 2}},
			}}
		}
		if answer, err := m.Pack(); err == nil {
			_, _ = socket.WriteTo(answer, from)
		}
	}
}

// Names are asked for through the stack, not through the kernel's.
func ExampleStack_Resolver() {
	client, server := hosts()
	defer client.Close()
	socket, err := server.ListenPacket("udp", ":53")
	if err != nil {
		log.Fatal(err)
	}
	go answerNames(socket)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	resolver := client.Resolver(netip.MustParseAddrPort("10.0.0.2:53"))
	fmt.Println(resolver.LookupNetIP(ctx, "ip4", "www.example."))
	// Output: [10.0.0.2] <nil>
}

// A client of HTTP that gets a page by the name of its server.
func ExampleDialer() {
	client, server := hosts()
	defer client.Close()
	socket, err := server.ListenPacket("udp", ":53")
	if err != nil {
		log.Fatal(err)
	}
	go answerNames(socket)
	l, err := server.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "this is ", r.Host)
	}))

	dialer := gonet.Dialer{Stack: client,
		Resolver: client.Resolver(netip.MustParseAddrPort("10.0.0.2:53"))}
	browser := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	r, err := browser.Get("http://www.example./")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(os.Stdout, r.Body)
	// Output: this is www.example.
}
