package host_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"interleave/gonet/host"
)

// Without GONET_TAP in the environment the server runs on the kernel's stack; with
// GONET_TAP="tap0 10.0.0.2/24" the same program runs on one of its own.
func ExampleListen() {
	defer host.Close() // last
	l, err := host.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			fmt.Fprint(c, "hello")
			_ = c.Close()
		}
	}()

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, _ = io.Copy(os.Stdout, c)
	// Output: hello
}
