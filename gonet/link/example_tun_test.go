//go:build darwin || freebsd || linux || openbsd

package link_test

import (
	"fmt"
	"log"

	"interleave/gonet/link"
)

// Any tun that is free, which is created and has no address yet. The rights that it needs differ:
// see OpenTun. This prints the version of each IP packet that the kernel sends into it.
func ExampleOpenTun() {
	tun, err := link.OpenTun("")
	if err != nil {
		log.Fatal(err)
	}
	defer tun.Close()
	fmt.Println(tun.Name(), "has an MTU of", tun.Features().MTU)
	batch := make([]link.Frame, 32)
	for {
		n, err := tun.Read(batch)
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range batch[:n] {
			fmt.Printf("version %d, %d bytes\n", f.Data[0]>>4, len(f.Data))
		}
	}
}
