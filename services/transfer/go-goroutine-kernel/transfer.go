// Transfers over the kernel's own TCP: the limit that stacks in processes are held against. A
// goroutine for each client, run by the runtime on one poller and a thread for each core.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// chunk is in bytes, a multiple of 251.
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
	if _, err := netip.ParseAddr(os.Args[3]); err != nil {
		usage(err)
	}
	port := number(os.Args[4], 65534)
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	for i, serve := range []func(net.Conn){discard, generate} {
		listener, err := net.Listen("tcp4", fmt.Sprintf("%v:%d", address.Addr(), port+i))
		if err != nil {
			log.Fatal(err)
		}
		go accept(listener, serve)
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
}

func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		client, err := listener.Accept()
		if err != nil { // out of descriptors: connected clients are still served, the next waits
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go serve(client)
	}
}

// buffers serve connections one after the other: a short one must not cost more memory than
// it brings bytes.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// discard reads until the client's end of file, and closes then (RFC 863).
func discard(client net.Conn) { drain(client) }

func drain(client net.Conn) (total int64) {
	defer client.Close()
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

// pattern is what generate sends again and again: the byte at i is i mod 251.
var pattern = func() (p [chunk]byte) {
	for i := range p {
		p[i] = byte(i % 251)
	}
	return p
}()

// generate sends until the client has gone (RFC 864).
func generate(client net.Conn) {
	defer client.Close()
	for {
		if _, err := client.Write(pattern[:]); err != nil {
			return
		}
	}
}

// turns is how often a client connects in a round: as often as the paper's pings.
const turns = 50

// loopback lets all clients at once transfer bytes, and prints a line for each round of it.
func loopback(clients, bytes, rounds int) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var received atomic.Int64
	var served sync.WaitGroup
	go accept(listener, func(c net.Conn) {
		received.Add(drain(c))
		served.Done()
	})
	data := make([]byte, bytes)
	for range rounds {
		received.Store(0)
		served.Add(clients * turns)
		failed := make(chan error, clients)
		start := time.Now()
		for i := range clients {
			go func() { failed <- transfers(i, listener.Addr().String(), data) }()
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

// transfers are one client's of a round. Each has an address of its own, for the ports of one rest
// for a second after their connections, and there are 28,000.
func transfers(client int, to string, data []byte) error {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+client>>8),
		byte(client))}}
	for range turns {
		c, err := from.Dial("tcp4", to)
		if err != nil {
			return err
		}
		if _, err := c.Write(data); err != nil {
			return err
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
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

// number is an argument from 1 to most.
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
