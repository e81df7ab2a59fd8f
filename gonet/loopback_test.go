package gonet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// countingLink records how many frames its stack has run between two reads.
type countingLink struct {
	*link.End
	stack atomic.Pointer[Stack]
	last  uint64
	most  atomic.Uint64
}

func (l *countingLink) Read(batch []link.Frame) (int, error) {
	if s := l.stack.Load(); s != nil {
		n := s.Stats().Received
		l.most.Store(max(l.most.Load(), n-l.last))
		l.last = n
	}
	return l.End.Read(batch)
}

// A loopbackLoad is what a stack does with itself. It begins, and goes on in goroutines until over
// is set.
type loopbackLoad func(t *testing.T, s *Stack, over *atomic.Bool, running *sync.WaitGroup)

// TestLoopbackDoesNotDelayTheLink has a stack busy with itself. It still reads its link after each
// batch, so a peer's pings are answered. The times that are logged depend on the machine; the
// frames between two reads of the link do not.
func TestLoopbackDoesNotDelayTheLink(t *testing.T) {
	for name, load := range map[string]loopbackLoad{
		"4 bulk connections":   bulkLoad(4, 0),
		"100 bulk connections": bulkLoad(100, 64<<10),
		"datagrams":            datagramLoad,
		"short connections":    shortLoad,
		"callbacks":            callbackLoad,
	} {
		t.Run(name, func(t *testing.T) {
			near, far := link.Pair(link.Offload())
			counting := &countingLink{End: near}
			x, y := twoHosts(t, counting, far)
			counting.stack.Store(x)
			var over atomic.Bool
			var running sync.WaitGroup
			load(t, x, &over, &running)
			trips := pingMany(t, y, addrC)
			over.Store(true)
			running.Wait()
			most, all := counting.most.Load(), x.Stats().Received
			slices.Sort(trips)
			if n := len(trips); n > 0 {
				t.Logf("%d pings: median %v, 99 %% %v; %d frames, at most %d between two reads of "+
					"the link", n, trips[n/2], trips[n*99/100], all, most)
			}
			// a batch of the link, one of the loopback, and the frames of one claim
			if most > batchLen+loopbackBatchLen+batchLen {
				t.Errorf("%d frames were run between two reads of the link", most)
			}
			if all < 500 {
				t.Errorf("a load of %d frames", all)
			}
		})
	}
}

// pingMany pings a hundred times, and returns how long each took.
func pingMany(t *testing.T, s *Stack, to netip.Addr) (trips []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for range 100 {
		d, err := s.Ping(ctx, to, 56)
		if err != nil {
			t.Error(err)
			break
		}
		trips = append(trips, d)
		time.Sleep(3 * time.Millisecond)
	}
	return trips
}

// bulkLoad writes to so many connections, each of which has so many bytes on their way at most; 0:
// the default.
func bulkLoad(connections, buffer int) loopbackLoad {
	return func(t *testing.T, s *Stack, over *atomic.Bool, running *sync.WaitGroup) {
		l, err := s.Listen("tcp4", ":9")
		if err != nil {
			t.Fatal(err)
		}
		go acceptAll(l, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) // the test ends it
		d := Dialer{Stack: s, TCP: &tcp.Config{SendBuffer: buffer}}
		for range connections {
			c, err := d.DialContext(t.Context(), "tcp4", "127.0.0.1:9")
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() { bulkUntil(t, c, over) })
		}
	}
}

func bulkUntil(t *testing.T, c net.Conn, over *atomic.Bool) {
	for b := make([]byte, 256<<10); !over.Load(); {
		if _, err := c.Write(b); err != nil {
			t.Error(err)
			return
		}
	}
	_ = c.Close() // the stack's end matters
}

// datagramLoad has four sockets send datagrams to another, 16 at a time, which it sends back. So
// few wait that none is lost. Senders that do not wait for answers keep all processors busy, and
// pings wait for the scheduler then, not for the stack.
func datagramLoad(t *testing.T, s *Stack, over *atomic.Bool, running *sync.WaitGroup) {
	p := listenAt(t, s, "udp4", ":9")
	go func() { // the stack's end ends it
		for b := make([]byte, 1500); ; {
			n, from, err := p.ReadFromAddrPort(b)
			if err != nil {
				return
			}
			_, _ = p.WriteToAddrPort(b[:n], from) // the sender misses it
		}
	}()
	for range 4 {
		c := dialUDP(t, s, "127.0.0.1:9")
		if err := c.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for b := make([]byte, 1200); !over.Load(); {
				for range 16 {
					if _, err := c.Write(b); err != nil {
						t.Error(err)
						return
					}
				}
				for range 16 {
					if _, err := c.Read(b); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
}

// shortLoad opens eight connections at a time, on which a server says a word and closes.
func shortLoad(t *testing.T, s *Stack, over *atomic.Bool, running *sync.WaitGroup) {
	for i := range 8 {
		at := fmt.Sprintf("127.0.0.1:%d", 9+i) // so there are ports enough
		l, err := s.Listen("tcp4", at)
		if err != nil {
			t.Fatal(err)
		}
		go acceptAll(l, func(c net.Conn) {
			_, _ = io.WriteString(c, "hello") // the client checks
			_ = c.Close()
		})
		running.Go(func() {
			for !over.Load() {
				c, err := s.Dial("tcp4", at)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(c)
				if err != nil || string(text) != "hello" {
					t.Errorf("%q, %v", text, err)
					return
				}
				_ = c.Close() // all has arrived
			}
		})
	}
}

// callbackLoad has 16 pairs of handlers send each other the same bytes without end.
func callbackLoad(t *testing.T, s *Stack, over *atomic.Bool, running *sync.WaitGroup) {
	send := func(c *AsyncConn, data []byte) int {
		n, _ := c.Send(data) // if it has failed, Closed follows
		return n
	}
	server := &callbacks{received: send, writable: (*AsyncConn).Resume}
	l, err := s.ListenAsync("tcp4", ":9", func(*AsyncConn) AsyncHandler { return server })
	if err != nil {
		t.Fatal(err)
	}
	client := &callbacks{
		connected: func(c *AsyncConn) { send(c, make([]byte, 4096)) },
		received: func(c *AsyncConn, data []byte) int {
			if over.Load() {
				_ = c.Close() // it may be closed already
				return len(data)
			}
			return send(c, data)
		},
		writable: (*AsyncConn).Resume,
		closed:   func(*AsyncConn, error) { running.Done() },
	}
	to := netip.AddrPortFrom(loopbackAddr, l.Addr().Port())
	for range 16 {
		running.Add(1)
		if _, err := s.DialAsync(netip.AddrPort{}, to, client); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoopbackKeepsLittle holds that the memory of many long packets to ourselves does not stay.
func TestLoopbackKeepsLittle(t *testing.T) {
	s := host6(t, link.Loopback(), "1", quiet)
	l := &s.loopback
	kept := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.kept
	}
	err := s.claim(func() { // the dealer takes none meanwhile
		for range loopbackLen {
			_ = s.sendLoopback(link.GSO{}, [][]byte{make([]byte, 60_000)}) // never fails
		}
		if n := kept(); n < loopbackLen*60_000 {
			t.Errorf("%d bytes are kept for %d packets", n, loopbackLen)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); kept() > loopbackKept; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are kept", kept())
		}
	}
}

// TestLoopbackRefuses holds that a segment of the stack to itself finds no connection where nobody
// listens, at each address that is ours.
func TestLoopbackRefuses(t *testing.T) {
	s := host6(t, link.Loopback(), "1", quiet)
	for _, a := range []string{"127.0.0.1:9", "[::1]:9", "10.0.0.1:9", "[2001:db8::1]:9"} {
		if c, err := s.Dial("tcp", a); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, %v", a, c, err)
		}
	}
}
