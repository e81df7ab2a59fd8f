// Ping, answered by the kernel of this machine: the reference for stacks in processes. The program
// only has to exist; an echo costs kernel time, in the process that happens to run.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"syscall"
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
	if err := has(os.Args[1], address); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
}

// has tells whether the kernel has this address on this device: otherwise nothing would answer.
func has(device string, address netip.Prefix) error {
	d, err := net.InterfaceByName(device)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	addresses, err := d.Addrs()
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	if !slices.ContainsFunc(addresses,
		func(a net.Addr) bool { return a.String() == address.String() }) {
		return fmt.Errorf("%s does not have the address %v", device, address)
	}
	return nil
}

func usage(err error) {
	if err != nil {
		log.Print("ping DEVICE ADDRESS/LEN PEER: ", err)
	} else {
		log.Print("usage: ping DEVICE ADDRESS/LEN PEER")
	}
	os.Exit(2)
}
