// Echo, a goroutine for each client: code that reads like blocking calls, run by the runtime on
// one poller and a thread for each core. The price is the runtime's scheduler between the kernel
// and every read.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// chunk is in bytes and bounds what a client can make the server hold.
const chunk = 16 << 10

// gonet.go replaces these with the functions of a stack in the program.
var (
	listen = net.Listen
	leave  = func() error { return nil }
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: echo PORT [HOST]")
	}
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	host := append(os.Args, "127.0.0.1")[2]
	listener, err := listen("tcp4", net.JoinHostPort(host, os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	go accept(listener)
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
	_ = leave()
}

func accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil { // out of descriptors: connected clients are still served, the next waits
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go serve(client)
	}
}

// serve does not read while it writes, so it stops reading from a client that does not read.
func serve(client net.Conn) {
	defer client.Close()
	buf := make([]byte, chunk)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
