// Counter, a goroutine for each client and one atomic word that all of them share: no lock and no
// owner, at the price of a cache line that moves between the cores with every increment.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// batch is in requests and bounds what one read takes and one write answers.
const batch = 1024

var count atomic.Uint64

// gonet.go replaces these with the functions of a stack in the program.
var (
	listen = net.Listen
	leave  = func() error { return nil }
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: counter PORT [HOST]")
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

func serve(client net.Conn) {
	defer client.Close()
	requests := make([]byte, batch)
	replies := make([]byte, 0, 8*batch)
	for {
		n, err := client.Read(requests)
		if err != nil {
			return
		}
		replies = replies[:0]
		known := 0
		for known < n && requests[known] <= 1 {
			value := count.Load()
			if requests[known] == 1 {
				value = count.Add(1)
			}
			replies = binary.BigEndian.AppendUint64(replies, value)
			known++
		}
		if _, err := client.Write(replies); err != nil || known < n {
			return
		}
	}
}
