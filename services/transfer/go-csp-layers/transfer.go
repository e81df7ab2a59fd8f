// Transfers over a stack of layers: a host of its own on a tap, or the stack's loopback alone. Each
// client has a goroutine, as with package net, and the stack has two more for its connection.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"interleave/services/transfer/go-csp-layers/layers"
)

// chunk is the size of a buffer in bytes: a multiple of 251, a bit above the stack's largest read.
const chunk = 261 * 251

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		usage(nil)
	}
	if os.Args[1] == "--loopback" {
		clients, bytes, rounds := number(os.Args[2], 4096), number(os.Args[3], 1<<30),
			number(os.Args[4], 1<<40)
		if err := loopback(clients, bytes, rounds); err != nil {
			log.Fatal(err)
		}
		return
	}
	address, err := netip.ParsePrefix(os.Args[2])
	if err != nil {
		usage(err)
	}
	peer, err := netip.ParseAddr(os.Args[3])
	if err != nil {
		usage(err)
	}
	port := number(os.Args[4], 65534)
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	tap, err := layers.OpenTap(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	stack, err := layers.New(layers.Config{Device: tap, Address: address, Gateway: peer})
	if err != nil {
		log.Fatal(err)
	}
	for i, serve := range []func(*layers.Conn){discard, generate} {
		listener, err := stack.Listen(uint16(port + i))
		if err != nil {
			log.Fatal(err)
		}
		go accept(listener, serve)
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

// accept serves clients until the stack ends.
func accept(listener *layers.Listener, serve func(*layers.Conn)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(client)
	}
}

// buffers are reused by one connection after the other: a short connection must not allocate more
// memory than it transfers.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// discard reads to the client's end of file, and then closes (RFC 863).
func discard(client *layers.Conn) { drain(client) }

func drain(client *layers.Conn) (total int64) {
	defer func() { _ = client.Close() }() // never fails
	buf := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buf)
	for {
		n, err := client.Read(buf[:])
		total += int64(n)
		if err != nil {
			return total
		}
	}
}

// pattern is the data that generate sends repeatedly: byte i is i mod 251.
var pattern = func() (p [chunk]byte) {
	for i := range p {
		p[i] = byte(i % 251)
	}
	return p
}()

// generate sends until the client has gone (RFC 864).
func generate(client *layers.Conn) {
	defer func() { _ = client.Close() }() // never fails
	for {
		if _, err := client.Write(pattern[:]); err != nil {
			return
		}
	}
}

// turns is how often a client connects in a round: the number of the paper's pings.
const turns = 50

// port is that of the loopback's server.
const port = 9

var home = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)

// loopback has all clients transfer bytes at once, and prints a line for each round.
func loopback(clients, bytes, rounds int) error {
	// A segment lives for microseconds here. With the usual minute of TIME-WAIT the ports would run
	// out.
	stack, err := layers.New(layers.Config{TimeWait: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	defer func() { _ = stack.Close() }() // nothing is left to be sent
	listener, err := stack.Listen(port)
	if err != nil {
		return err
	}
	var received atomic.Int64
	var served sync.WaitGroup
	go accept(listener, func(c *layers.Conn) {
		received.Add(drain(c))
		served.Done()
	})
	data := make([]byte, bytes)
	for range rounds {
		received.Store(0)
		served.Add(clients * turns)
		failed := make(chan error, clients)
		start := time.Now()
		for range clients {
			go func() { failed <- transfers(stack, data) }()
		}
		for range clients {
			if err := <-failed; err != nil {
				return err
			}
		}
		served.Wait()
		took := time.Since(start)
		if _, err := fmt.Printf("%d %.9f\n", received.Load(), took.Seconds()); err != nil {
			return err
		}
	}
	return nil
}

// transfers makes the transfers of one client in a round.
func transfers(stack *layers.Stack, data []byte) error {
	for range turns {
		c, err := stack.Dial(home)
		if err != nil {
			return err
		}
		if _, err := c.Write(data); err != nil {
			return err
		}
		if err := c.CloseWrite(); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, c); err != nil { // until the peer closes
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// number parses an argument from 1 to most.
func number(text string, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		usage(fmt.Errorf("got %q, want a number from 1 to %d", text, most))
	}
	return n
}

func usage(err error) {
	if err != nil {
		log.Print("transfer: ", err)
	} else {
		log.Print("usage: transfer DEVICE ADDRESS/LEN PEER PORT | transfer --loopback CLIENTS " +
			"BYTES ROUNDS")
	}
	os.Exit(2)
}
