//go:build linux

package gonet

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// BenchmarkLoopbackTransfer makes transfers as the programs of services/loopback do: a client
// connects, sends 4 kB, closes its direction, and waits for the peer's close; so many clients at
// once. Both ends are in one stack. It reports the processor time of a transfer, both ends together
// and the collection of garbage included:
//
//	go test -run '^$' -bench LoopbackTransfer -benchtime 100000x ./gonet
func BenchmarkLoopbackTransfer(b *testing.B) {
	for _, kind := range []struct {
		name     string
		transfer func(b *testing.B, s *Stack, clients int)
	}{{"callbacks", asyncTransfers}, {"sockets", socketTransfers}} {
		for _, clients := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, clients), func(b *testing.B) {
				// With the usual minute of TIME-WAIT the ports would run out.
				s, err := New(Config{Link: link.Loopback(link.MTU(1500)),
					TCP: tcp.Config{TimeWait: 10 * time.Millisecond}})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = s.Close() }() // nothing is left to be sent
				kind.transfer(b, s, clients)     // fills pools
				b.ResetTimer()
				before := processorTime(b)
				kind.transfer(b, s, clients)
				took := processorTime(b) - before
				b.ReportMetric(float64(took.Nanoseconds())/1000/float64(b.N), "cpu-us/op")
			})
		}
	}
}

const transferLen = 4096

// processorTime returns the processor time that the process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// transferClient is the handler of a client's connections, one after the other.
type transferClient struct {
	AsyncBase
	b    *testing.B
	s    *Stack
	to   netip.AddrPort
	data []byte
	rest []byte
	left int
	done *sync.WaitGroup
}

func (x *transferClient) dial() {
	x.rest = x.data
	if _, err := x.s.DialAsync(netip.AddrPort{}, x.to, x); err != nil {
		x.b.Error(err)
		x.done.Done()
	}
}

func (x *transferClient) Connected(c *AsyncConn) { x.Writable(c) }

func (x *transferClient) Writable(c *AsyncConn) {
	n, err := c.Send(x.rest)
	if x.rest = x.rest[n:]; len(x.rest) == 0 && err == nil {
		err = c.CloseWrite()
	}
	if err != nil {
		x.b.Error(err)
	}
}

func (x *transferClient) Closed(_ *AsyncConn, err error) {
	if err != nil {
		x.b.Error(err)
	}
	if x.left--; x.left > 0 {
		x.dial()
		return
	}
	x.done.Done()
}

// transferServer counts what it takes.
type transferServer struct {
	AsyncBase
	got int
}

func (x *transferServer) Received(_ *AsyncConn, data []byte) int {
	x.got += len(data)
	return len(data)
}

func asyncTransfers(b *testing.B, s *Stack, clients int) {
	server := new(transferServer)
	l, err := s.ListenAsync("tcp4", "127.0.0.1:9", func(*AsyncConn) AsyncHandler { return server })
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, transferLen)
	var done sync.WaitGroup
	for i := range clients {
		share := (b.N + clients - 1 - i) / clients
		if share == 0 {
			continue
		}
		done.Add(1)
		x := &transferClient{b: b, s: s, to: l.Addr(), data: data, left: share, done: &done}
		x.dial()
	}
	done.Wait()
	if err := l.Close(); err != nil { // it waits for the dealer, which then has counted all
		b.Error(err)
	}
	if server.got != b.N*transferLen {
		b.Errorf("%d bytes of %d have arrived", server.got, b.N*transferLen)
	}
}

func socketTransfers(b *testing.B, s *Stack, clients int) {
	l, err := s.Listen("tcp4", "127.0.0.1:9")
	if err != nil {
		b.Fatal(err)
	}
	go acceptAll(l, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c) // the client checks
		_ = c.Close()                 // likewise
	})
	data := make([]byte, transferLen)
	var done sync.WaitGroup
	for i := range clients {
		share := (b.N + clients - 1 - i) / clients
		done.Go(func() {
			for range share {
				if err := socketTransfer(s, l.Addr(), data); err != nil {
					b.Error(err)
				}
			}
		})
	}
	done.Wait()
	if err := l.Close(); err != nil {
		b.Error(err)
	}
}

func socketTransfer(s *Stack, to net.Addr, data []byte) error {
	c, err := s.Dial("tcp4", to.String())
	if err != nil {
		return err
	}
	if _, err := c.Write(data); err != nil {
		return err
	}
	if err := c.(*Conn).CloseWrite(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, c); err != nil { // until the peer closes
		return err
	}
	return c.Close()
}
