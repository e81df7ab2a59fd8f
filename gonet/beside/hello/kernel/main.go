// Command kernel says hello over HTTP by the kernel's loopback: what package net and net/http take.
package main

import (
	"log"
	"net"

	"interleave/gonet/beside/hello"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	err = hello.Run(l, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
	if err != nil {
		log.Fatal(err)
	}
}
