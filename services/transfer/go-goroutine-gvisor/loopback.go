package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	loop "gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// turns is the number of connections of a client in a round: as many as the paper's pings.
const turns = 50

var home = tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4([4]byte{127, 0, 0, 1}), Port: 9}

// loopback lets all clients at once transfer bytes, and prints a line for each round of it.
func loopback(clients, bytes, rounds int) error {
	host, err := newHost(loop.New(), netip.MustParsePrefix("127.0.0.1/8"),
		netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		return err
	}
	// A segment lives for microseconds here; with the minute that it may live elsewhere the ports
	// would be used up.
	wait := tcpip.TCPTimeWaitTimeoutOption(100 * time.Millisecond)
	if err := failed(host.SetTransportProtocolOption(tcp.ProtocolNumber, &wait)); err != nil {
		return err
	}
	listener, err := gonet.ListenTCP(host, home, ipv4.ProtocolNumber)
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
		done := make(chan error, clients)
		start := time.Now()
		for range clients {
			go func() { done <- transfers(host, data) }()
		}
		for range clients {
			if err := <-done; err != nil {
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

// transfers are one client's of a round.
func transfers(host *stack.Stack, data []byte) error {
	for range turns {
		c, err := gonet.DialContextTCP(context.Background(), host, home, ipv4.ProtocolNumber)
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
