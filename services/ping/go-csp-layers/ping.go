// Ping answered by a stack of layers, a host of its own on a tap. Between the goroutine that reads
// a frame and the one that answers it stand those of Ethernet, IPv4, ICMP and ping.
package main

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"interleave/services/transfer/go-csp-layers/layers"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		usage(nil)
	}
	address, err := netip.ParsePrefix(os.Args[2])
	if err != nil {
		usage(err)
	}
	peer, err := netip.ParseAddr(os.Args[3])
	if err != nil {
		usage(err)
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	tap, err := layers.OpenTap(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	stack, err := layers.New(layers.Config{Device: tap, Address: address, Gateway: peer})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	select {
	case <-stop.Done():
	case err := <-stack.Failed():
		log.Fatal(err)
	}
	if err := stack.Close(); err != nil {
		log.Fatal(err)
	}
}

func usage(err error) {
	if err != nil {
		log.Print("ping DEVICE ADDRESS/LEN PEER: ", err)
	} else {
		log.Print("usage: ping DEVICE ADDRESS/LEN PEER")
	}
	os.Exit(2)
}
