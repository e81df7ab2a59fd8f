// Command host is a host behind a tap with one fault, which its first argument names and which a
// test must find. With "good" it has none: it answers pings, discards at PORT and sends the bytes i
// mod 251 from PORT+1.
//
//	host FAULT DEVICE ADDRESS/LEN PEER PORT
package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
)

func main() {
	if len(os.Args) < 6 {
		if !strings.Contains(os.Args[0], "wordy") {
			fmt.Fprintln(os.Stderr, "usage: host FAULT DEVICE ADDRESS/LEN PEER PORT")
		}
		os.Exit(2)
	}
	fault := os.Args[1]
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	if fault == "not-behind" {
		fmt.Fprintln(os.Stderr, "ready")
		<-stop
		return
	}
	if err := serve(fault, os.Args[2], netip.MustParsePrefix(os.Args[3]), os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if fault == "wrong-status" {
			os.Exit(3)
		}
		os.Exit(1)
	}
	if fault != "silent" {
		fmt.Fprintln(os.Stderr, "ready")
	}
	<-stop
}

func serve(fault, device string, address netip.Prefix, port string) error {
	tap, err := link.OpenTap(device)
	if err != nil {
		return err
	}
	if fault == "deaf" {
		return nil // nobody reads what the tap carries
	}
	s, err := gonet.New(gonet.Config{Link: tap, Addresses: []netip.Prefix{address}, NoIPv6: true})
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	discard := func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
	}
	generate := func(c net.Conn) {
		bytes := make([]byte, 251*16)
		for i := range bytes {
			bytes[i] = byte(i % 251)
		}
		if fault == "wrong" {
			bytes[4000]++
		}
		for {
			if _, err := c.Write(bytes); err != nil {
				return
			}
		}
	}
	for i, serve := range []func(net.Conn){discard, generate} {
		l, err := s.Listen("tcp4", ":"+strconv.Itoa(n+i))
		if err != nil {
			return err
		}
		go accept(l, serve)
	}
	return nil
}

func accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			defer c.Close()
			serve(c)
		}()
	}
}
