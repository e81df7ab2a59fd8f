package gonet

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// echoFlow sends back each datagram of a flow.
func echoFlow(w *UDPFlow) {
	b := make([]byte, 65536)
	for {
		n, err := w.Read(b)
		if err != nil {
			return
		}
		if _, err := w.Write(b[:n]); err != nil {
			return
		}
	}
}

// dialUDP returns a socket that is connected to a foreign address.
func dialUDP(t *testing.T, x *Stack, to string) net.Conn {
	t.Helper()
	c, err := x.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exchange sends text and expects it back.
func exchange(t *testing.T, c net.Conn, text []byte) {
	t.Helper()
	if _, err := c.Write(text); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 65536)
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(b); err != nil || !bytes.Equal(b[:n], text) {
		t.Errorf("%d bytes back of %d, %v", n, len(text), err)
	}
}

// TestForwardUDP has flows of both families, with datagrams that need fragments.
func TestForwardUDP(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		flows := make(chan *UDPFlow, 10)
		forwardUDP(t, y, func(w *UDPFlow) {
			flows <- w
			echoFlow(w)
		})
		for _, to := range []string{"198.51.100.7:53", "198.51.100.7:54", "[2001:db8:9::7]:53"} {
			for range 2 { // two clients of one destination are two flows
				c := dialUDP(t, x, to)
				for _, size := range []int{0, 3, 1472, 1473, 20_000} {
					exchange(t, c, bytes.Repeat([]byte{byte(size)}, size))
				}
				w := <-flows
				if w.LocalAddr().String() != to || w.Destination().String() != to ||
					w.RemoteAddr().String() != c.LocalAddr().String() ||
					w.Source().String() != c.LocalAddr().String() {
					t.Errorf("%v to %v", w.RemoteAddr(), w.LocalAddr())
				}
			}
		}
		if s, err := y.Snapshot(); err != nil || len(s.Flows) != 6 || len(s.Sockets) != 0 {
			t.Errorf("%v, %v, %v", s.Flows, s.Sockets, err)
		}
		if len(flows) != 0 {
			t.Errorf("%d flows too many", len(flows))
		}
		// A client that has closed its socket answers by an ICMP error.
		errs := make(chan error, 1)
		forwardUDP(t, y, func(w *UDPFlow) {
			b := make([]byte, 10)
			if _, err := w.Read(b); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			if _, err := w.Write(b); err != nil {
				t.Error(err)
			}
			_, err := w.Read(b)
			errs <- err
		})
		c := dialUDP(t, x, "198.51.100.7:99")
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-errs; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("to a client that has gone: %v", err)
		}
	})
}

// TestForwardUDPIdle holds when flows end: after they were idle, when their handler returns, and
// with the stack.
func TestForwardUDPIdle(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		type end struct {
			err error
			at  time.Time
		}
		ended := make(chan end, 10)
		forwardUDP(t, y, func(w *UDPFlow) {
			b := make([]byte, 10)
			for {
				n, err := w.Read(b)
				if err != nil {
					ended <- end{err, time.Now()}
					return
				}
				if string(b[:n]) == "leave" {
					return
				}
				if string(b[:n]) == "later" { // a datagram to the client keeps the flow, too
					time.AfterFunc(90*time.Second, func() { _, _ = w.Write(b[:n]) })
				}
			}
		})
		c := dialUDP(t, x, "198.51.100.7:53")
		for range 3 { // used again and again, it stays
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Second)
		}
		if _, err := c.Write([]byte("later")); err != nil {
			t.Fatal(err)
		}
		last := time.Now().Add(90 * time.Second)
		e := <-ended
		if d := e.at.Sub(last); !errors.Is(e.err, net.ErrClosed) || d != defaultFlowIdle {
			t.Errorf("ended with %v, idle for %v", e.err, d)
		}
		if _, err := c.Write([]byte("leave")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s, err := y.Snapshot(); err != nil || len(s.Flows) != 0 {
			t.Errorf("%v, %v", s.Flows, err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := y.Close(); err != nil {
			t.Fatal(err)
		}
		if e := <-ended; !errors.Is(e.err, net.ErrClosed) {
			t.Errorf("with the stack: %v", e.err)
		}
	})
}

// TestReceiveBatch takes the datagrams that wait by few calls, and an ICMP error behind them by one
// of its own.
func TestReceiveBatch(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		flows, done := make(chan *UDPFlow, 1), make(chan struct{})
		forwardUDP(t, y, func(w *UDPFlow) {
			flows <- w
			<-done
		})
		defer close(done)
		c := dialUDP(t, x, "198.51.100.7:53")
		send := func(size int) {
			if _, err := c.Write(bytes.Repeat([]byte{byte(size)}, size)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		send(100)
		w, batch := <-flows, make([][]byte, 4)
		expect := func(want ...int) {
			t.Helper()
			n, err := w.ReceiveBatch(batch)
			if err != nil || n != len(want) {
				t.Fatalf("%d datagrams, %v, want %d", n, err, len(want))
			}
			for i, size := range want {
				if !bytes.Equal(batch[i], bytes.Repeat([]byte{byte(size)}, size)) {
					t.Errorf("datagram %d has %d bytes, want %d", i, len(batch[i]), size)
				}
			}
		}
		expect(100)
		if n, err := w.ReceiveBatch(nil); n != 0 || err != nil {
			t.Errorf("none: %d, %v", n, err)
		}
		for size := range 10 {
			send(size)
		}
		expect(0, 1, 2, 3)
		expect(4, 5, 6, 7)
		expect(8, 9)
		send(7)
		_ = c.Close() // nothing waits
		if _, err := w.Write([]byte("to nobody")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect(7)
		if n, err := w.ReceiveBatch(batch); n != 0 || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%d datagrams, %v", n, err)
		}
		if err := w.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := w.ReceiveBatch(batch); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d datagrams, %v", n, err)
		}
	})
}

// TestForwardUDPOldest holds that the flow which was idle for the longest time gives way.
func TestForwardUDPOldest(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		var open sync.Map
		forwardUDP(t, y, func(w *UDPFlow) {
			open.Store(w.Destination().Port(), true)
			echoFlow(w)
			open.Delete(w.Destination().Port())
		})
		var all []net.Conn
		for i := range 4 {
			all = append(all, dialUDP(t, x, fmt.Sprintf("198.51.100.7:%d", 1000+i)))
			time.Sleep(time.Second)
			exchange(t, all[i], []byte("x"))
		}
		time.Sleep(time.Second)
		exchange(t, all[0], []byte("x")) // now 1 is the oldest
		for i := 4; i < 6; i++ {
			time.Sleep(time.Second)
			exchange(t, dialUDP(t, x, fmt.Sprintf("198.51.100.7:%d", 1000+i)), []byte("x"))
		}
		synctest.Wait()
		for port, want := range []bool{true, false, false, true, true, true} {
			if _, got := open.Load(uint16(1000 + port)); got != want {
				t.Errorf("flow %d is there: %v, want %v", port, got, want)
			}
		}
		exchange(t, all[1], []byte("again"))
	}, func(c *Config) { c.Forward.Flows = 4 })
}

// TestAttackForwardFlows sends datagrams from all ports of a host. The flows are bounded, and so
// are their handlers, which do not end with their flows.
func TestAttackForwardFlows(t *testing.T) {
	overBoth(t, func(t *testing.T, options ...link.Option) {
		synctest.Test(t, func(t *testing.T) {
			o := newLoneAttackerOn(t, options, everywhere,
				func(c *Config) { c.Forward.Flows = 500 })
			o.claims(addrO)
			o.discarding.Store(true)
			var running atomic.Int32
			over := t.Context()
			forwardUDP(t, o.victim, func(*UDPFlow) {
				running.Add(1)
				<-over.Done()
			})
			growth := newGrowth(t)
			flood := fewer(20_000, 8)
			for i := range flood {
				o.udp(at(addrO, 1000+i), at(foreign4, 53), []byte("text"))
			}
			synctest.Wait()
			growth.within(16<<20, 1000+100)
			if n := running.Load(); n != 1000 {
				t.Errorf("%d handlers run", n)
			}
			if n := o.victim.Stats().DroppedForwards; n != uint64(flood-1000) {
				t.Errorf("%d were dropped", n)
			}
			if s, err := o.victim.Snapshot(); err != nil || len(s.Flows) != 500 {
				t.Errorf("%d flows, %v", len(s.Flows), err)
			}
			// Many datagrams of one flow wait in a bounded queue.
			before := o.victim.Stats().DroppedSockets
			for range 3_000 {
				o.udp(at(addrO, 1000+999), at(foreign4, 53), make([]byte, 1000))
			}
			synctest.Wait()
			growth.within(16<<20, 1000+100)
			if n := o.victim.Stats().DroppedSockets - before; n < 2_500 {
				t.Errorf("%d datagrams were dropped", n)
			}
		})
	})
}

// TestForwardUDPRaces has flows end by their programs and by others at the same time.
func TestForwardUDPRaces(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		forwardUDP(t, y, func(w *UDPFlow) {
			b := make([]byte, 10)
			for range 3 {
				n, err := w.Read(b)
				if err != nil {
					return
				}
				_, _ = w.Write(b[:n]) // the flow may have ended
			}
			go func() { _ = w.Close() }() // it may have ended
		})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				c, err := x.Dial("udp", fmt.Sprintf("198.51.100.7:%d", 1000+i))
				if err != nil {
					t.Error(err)
					return
				}
				b := make([]byte, 10)
				for range 50 {
					_, _ = c.Write([]byte("x"))
					_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // never fails
					_, _ = c.Read(b)
				}
			})
		}
		all.Wait()
		time.Sleep(2 * defaultFlowIdle)
		synctest.Wait()
		if s, err := y.Snapshot(); err != nil || len(s.Flows) != 0 ||
			y.forward.flowHandlers.Load() != 0 || y.forward.flows.count() != 0 {
			t.Errorf("%d flows, %d handlers, %v", len(s.Flows), y.forward.flowHandlers.Load(), err)
		}
	}, func(c *Config) { c.Forward.Flows = 5 })
}
