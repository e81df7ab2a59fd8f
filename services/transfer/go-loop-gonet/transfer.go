// Transfers over GoNet with callbacks: a host of its own on a tap, or the stack's loopback alone.
// The stack calls the handler of a connection in the goroutine in which it processes packets. So
// nobody is woken for a segment, and all of a program's connections run on one core.
package main

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"interleave/gonet"
	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

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
	tap, err := link.OpenTap(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	stack, err := gonet.New(gonet.Config{Link: tap, Addresses: []netip.Prefix{address}})
	if err != nil {
		log.Fatal(err)
	}
	for i, accept := range []func(*gonet.AsyncConn) gonet.AsyncHandler{
		func(*gonet.AsyncConn) gonet.AsyncHandler { return discard{} },
		func(*gonet.AsyncConn) gonet.AsyncHandler { return new(generate) },
	} {
		if _, err := stack.ListenAsync("tcp", fmt.Sprintf(":%d", port+i), accept); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Fprintln(os.Stderr, "ready")
	<-stop.Done()
	if err := stack.Close(); err != nil {
		log.Fatal(err)
	}
}

// discard takes all to the client's end of file, and then closes (RFC 863): as AsyncBase does.
type discard struct{ gonet.AsyncBase }

// pattern is the data that generate sends repeatedly: byte i is i mod 251.
var pattern = func() (p [261 * 251]byte) {
	for i := range p {
		p[i] = byte(i % 251)
	}
	return p
}()

// generate sends until the client has gone (RFC 864).
type generate struct {
	gonet.AsyncBase
	at int // the index in pattern of the next byte
}

func (g *generate) Connected(c *gonet.AsyncConn) { g.Writable(c) }

// Writable fills the send buffer.
func (g *generate) Writable(c *gonet.AsyncConn) {
	for {
		n, err := c.Send(pattern[g.at:])
		g.at += n
		if g.at < len(pattern) || err != nil {
			return
		}
		g.at = 0
	}
}

// Finished keeps the connection open: the client still reads.
func (g *generate) Finished(*gonet.AsyncConn) {}

// turns is how often a client connects in a round: the number of the paper's pings.
const turns = 50

// home is where the server of a loopback listens.
var home = netip.MustParseAddrPort("127.0.0.1:9")

// server counts what it takes. Its calls and the clients' come from one goroutine.
type server struct {
	discard
	received int
	served   sync.WaitGroup
}

func (s *server) Received(_ *gonet.AsyncConn, data []byte) int {
	s.received += len(data)
	return len(data)
}

func (s *server) Closed(*gonet.AsyncConn, error) { s.served.Done() } // the client has the error

// client makes the transfers of a round, one after the other.
type client struct {
	gonet.AsyncBase
	stack      *gonet.Stack
	data, rest []byte
	turns      int
	ended      chan<- error
}

func (c *client) connect() {
	c.rest = c.data
	if _, err := c.stack.DialAsync(netip.AddrPort{}, home, c); err != nil {
		c.ended <- err
	}
}

func (c *client) Connected(conn *gonet.AsyncConn) { c.Writable(conn) }

func (c *client) Writable(conn *gonet.AsyncConn) {
	n, _ := conn.Send(c.rest) // Closed has the error
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		_ = conn.CloseWrite() // likewise
	}
}

// Closed comes when the server has closed, too: AsyncBase closes this end then.
func (c *client) Closed(_ *gonet.AsyncConn, err error) {
	if c.turns--; c.turns > 0 && err == nil {
		c.connect()
		return
	}
	c.ended <- err
}

// loopback has all clients transfer bytes at once, and prints a line for each round.
func loopback(clients, bytes, rounds int) error {
	// A segment lives for microseconds here. With the usual minute of TIME-WAIT the ports would run
	// out.
	stack, err := gonet.New(gonet.Config{Link: link.Loopback(link.MTU(1500)),
		TCP: tcp.Config{TimeWait: 10 * time.Millisecond}})
	if err != nil {
		return err
	}
	defer func() { _ = stack.Close() }() // nothing is left to be sent
	s := new(server)
	_, err = stack.ListenAsync("tcp4", home.String(),
		func(*gonet.AsyncConn) gonet.AsyncHandler { return s })
	if err != nil {
		return err
	}
	data := make([]byte, bytes)
	for range rounds {
		s.received = 0 // no connection is open
		s.served.Add(clients * turns)
		ended := make(chan error, clients)
		start := time.Now()
		for range clients {
			c := &client{stack: stack, data: data, turns: turns, ended: ended}
			c.connect()
		}
		for range clients {
			if err := <-ended; err != nil {
				return err
			}
		}
		s.served.Wait()
		took := time.Since(start)
		if _, err := fmt.Printf("%d %.9f\n", s.received, took.Seconds()); err != nil {
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
