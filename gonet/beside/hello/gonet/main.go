// Command gonet says hello over HTTP, between two hosts of GoNet on a link in memory.
package main

import (
	"log"

	"interleave/gonet/beside/hello"
	"interleave/gonet/beside/host/gonethost"
)

func main() {
	if err := hello.Between(gonethost.Pair); err != nil {
		log.Fatal(err)
	}
}
