package link_test

import (
	"fmt"
	"log"

	"interleave/gonet/link"
)

// The device is made if it is not there, which takes CAP_NET_ADMIN. This prints the type of each
// frame that the kernel sends into it.
func ExampleOpenTap() {
	tap, err := link.OpenTap("gonet0")
	if err != nil {
		log.Fatal(err)
	}
	defer tap.Close()
	batch := make([]link.Frame, 32)
	for {
		n, err := tap.Read(batch)
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range batch[:n] {
			fmt.Printf("%x, %d bytes\n", f.Data[12:14], len(f.Data))
		}
	}
}
