package gonet

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"interleave/gonet/link"
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

// TestLoopbackDoesNotDelayTheLink has four bulk connections of a stack with itself. The stack still
// reads its link after each batch, so a peer's pings are answered.
func TestLoopbackDoesNotDelayTheLink(t *testing.T) {
	near, far := link.Pair(link.Offload())
	counting := &countingLink{End: near}
	x, y := twoHosts(t, counting, far)
	counting.stack.Store(x)
	l, err := x.Listen("tcp4", ":9")
	if err != nil {
		t.Fatal(err)
	}
	go acceptAll(l, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) // the test ends it
	var over atomic.Bool
	var wait sync.WaitGroup
	for range 4 {
		c, err := x.Dial("tcp4", "127.0.0.1:9")
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() { bulkUntil(t, c, &over) })
	}
	var trips []time.Duration
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 60 {
		d, err := y.Ping(ctx, x.Addresses()[len(x.Addresses())-1].Addr(), 56)
		if err != nil {
			t.Error(err)
			break
		}
		trips = append(trips, d)
		time.Sleep(5 * time.Millisecond)
	}
	over.Store(true)
	wait.Wait()
	slices.Sort(trips)
	t.Logf("%d pings: median %v, 99 %% %v; at most %d frames between two reads of the link",
		len(trips), trips[len(trips)/2], trips[len(trips)*99/100], counting.most.Load())
	// a batch of the link, one of the loopback, and the frames of one claim
	if most := counting.most.Load(); most > batchLen+loopbackBatchLen+batchLen {
		t.Errorf("%d frames were run between two reads of the link", most)
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
