// Command gvisor says hello over HTTP, between two hosts of gVisor on a link in memory.
package main

import (
	"log"

	"interleave/gonet/beside/hello"
	"interleave/gonet/beside/host/gvisorhost"
)

func main() {
	if err := hello.Between(gvisorhost.Pair); err != nil {
		log.Fatal(err)
	}
}
