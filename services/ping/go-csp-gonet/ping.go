// Ping answered by GoNet, a host of its own on a tap. The goroutine that reads frames answers them
// itself, so an echo costs one wake-up of the process and no channel operation.
package main

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"interleave/gonet"
	"interleave/gonet/link"
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
	if _, err := netip.ParseAddr(os.Args[3]); err != nil {
		usage(err)
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	tap, err := link.OpenTap(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	stack, err := gonet.New(gonet.Config{Link: tap, Addresses: []netip.Prefix{address}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
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
