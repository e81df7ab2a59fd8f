package gonet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
)

// callbacks is a handler of functions. One that is nil does what AsyncBase does.
type callbacks struct {
	AsyncBase
	connected, finished, writable, timer func(c *AsyncConn)
	received                             func(c *AsyncConn, data []byte) int
	closed                               func(c *AsyncConn, err error)
}

func (h *callbacks) Connected(c *AsyncConn) {
	if h.connected != nil {
		h.connected(c)
	}
}

func (h *callbacks) Received(c *AsyncConn, data []byte) int {
	if h.received != nil {
		return h.received(c, data)
	}
	return h.AsyncBase.Received(c, data)
}

func (h *callbacks) Finished(c *AsyncConn) {
	if h.finished != nil {
		h.finished(c)
		return
	}
	h.AsyncBase.Finished(c)
}

func (h *callbacks) Writable(c *AsyncConn) {
	if h.writable != nil {
		h.writable(c)
	}
}

func (h *callbacks) Timer(c *AsyncConn) {
	if h.timer != nil {
		h.timer(c)
		return
	}
	h.AsyncBase.Timer(c)
}

func (h *callbacks) Closed(c *AsyncConn, err error) {
	if h.closed != nil {
		h.closed(c, err)
	}
}

// listenAsync listens at a port of 10.0.0.2 with one handler for all connections.
func listenAsync(t testing.TB, s *Stack, port uint16, h AsyncHandler) netip.AddrPort {
	t.Helper()
	at := netip.AddrPortFrom(addrV, port)
	l, err := s.ListenAsync("tcp", at.String(), func(*AsyncConn) AsyncHandler { return h })
	if err != nil {
		t.Fatal(err)
	}
	if port != 0 && l.Addr() != at {
		t.Errorf("the listener is at %v, want %v", l.Addr(), at)
	}
	return l.Addr()
}

func dialAsync(t testing.TB, s *Stack, to netip.AddrPort, h AsyncHandler) *AsyncConn {
	t.Helper()
	c, err := s.DialAsync(netip.AddrPort{}, to, h)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ends is a channel for the errors with which connections end, and the function that reports them.
func ends(n int) (<-chan error, func(*AsyncConn, error)) {
	ended := make(chan error, n)
	return ended, func(_ *AsyncConn, err error) { ended <- err }
}

// want waits for the next end, and compares its error.
func want(t *testing.T, ended <-chan error, target error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, target) || target == nil && err != nil {
			t.Errorf("the connection ended with %v, want %v", err, target)
		}
	case <-time.After(time.Hour):
		t.Errorf("the connection did not end, want %v", target)
	}
}

// twoQuiet makes two hosts in fake time, 10.0.0.1 and 10.0.0.2.
func twoQuiet(t *testing.T) (x, y *Stack) {
	t.Helper()
	a, b := link.Pair()
	none := func(c *Config) { c.TCP.KeepAlive = -1 }
	return host6(t, a, "1", quiet, none), host6(t, b, "2", quiet, none)
}

// TestAsyncBackpressure has a handler take nothing for a while: the peer's Write stops when the
// buffers are full, and goes on after Resume, from another goroutine and from the handler's timer.
func TestAsyncBackpressure(t *testing.T) {
	for _, inside := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x, y := twoQuiet(t)
			const buffer = 20_000
			var got bytes.Buffer
			open := false
			ended, closed := ends(1)
			accepted := make(chan *AsyncConn, 1)
			at := listenAsync(t, y, 80, &callbacks{
				connected: func(c *AsyncConn) {
					if err := c.SetReadBuffer(buffer); err != nil {
						t.Error(err)
					}
					accepted <- c
				},
				received: func(c *AsyncConn, data []byte) int {
					if !open {
						n := min(len(data), 100)
						got.Write(data[:n])
						return n
					}
					got.Write(data)
					return len(data)
				},
				timer:  func(c *AsyncConn) { open = true; c.Resume() },
				closed: closed,
			})
			sent := make([]byte, 1_000_000)
			_, _ = newStream(1, len(sent)).Read(sent)
			near, err := x.Dial("tcp", at.String())
			if err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			go func() {
				_, err := near.Write(sent)
				written <- errors.Join(err, near.Close())
			}()
			c := <-accepted
			time.Sleep(time.Minute)
			select {
			case err := <-written:
				t.Fatalf("the writer was not stopped: %v", err)
			default:
			}
			// the window that was announced before SetReadBuffer may be used
			if n := c.Info().Unread; n < buffer/2 || n > firstWindow {
				t.Errorf("%d bytes wait", n)
			}
			if inside {
				c.SetTimer(time.Second)
			} else if err := y.claim(func() { open = true }); err != nil {
				t.Error(err)
			}
			c.Resume() // a handler that does not take is offered again
			if err := <-written; err != nil {
				t.Error(err)
			}
			want(t, ended, nil)
			if !bytes.Equal(got.Bytes(), sent) {
				t.Errorf("%d bytes of %d arrived, or others", got.Len(), len(sent))
			}
			empty(t, 0, x, y)
		})
	}
}

// firstWindow is the window that a SYN announces, in bytes. Each acknowledgement rounds what is
// left of it up to its scale.
const firstWindow = 64<<10 + 64*128

// TestAsyncErrors ends connections in all ways, and compares what both handlers are told.
func TestAsyncErrors(t *testing.T) {
	abort := func(c *AsyncConn) { _ = c.Abort() }   // what comes of it is compared
	closing := func(c *AsyncConn) { _ = c.Close() } // likewise
	errNotAccepted := errors.New("no connection was accepted")
	for name, c := range map[string]struct {
		near, far         func(c *AsyncConn) // when connected
		wantNear, wantFar error
	}{
		"close":       {closing, nil, nil, nil},
		"half-close":  {func(c *AsyncConn) { _ = c.CloseWrite() }, nil, nil, nil},
		"abort there": {nil, abort, syscall.ECONNRESET, net.ErrClosed},
		// the acknowledgement of the SYN goes with what the handler does, so there is none
		"abort": {abort, nil, net.ErrClosed, errNotAccepted},
		"close, abort": {func(c *AsyncConn) { closing(c); abort(c) }, nil, net.ErrClosed,
			errNotAccepted},
		"timer": {func(c *AsyncConn) { c.SetTimer(time.Second) }, nil, net.ErrClosed,
			syscall.ECONNRESET},
		"timer stopped": {func(c *AsyncConn) { c.SetTimer(1); c.SetTimer(0); closing(c) }, nil, nil,
			nil},
		"linger 0": {nil, func(c *AsyncConn) { _ = c.SetLinger(0); closing(c) }, syscall.ECONNRESET,
			net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := twoQuiet(t)
				near, nearClosed := ends(1)
				far, farClosed := ends(1)
				at := listenAsync(t, y, 80, &callbacks{connected: c.far, closed: farClosed})
				dialAsync(t, x, at, &callbacks{connected: c.near, closed: nearClosed})
				want(t, near, c.wantNear)
				if c.wantFar == errNotAccepted {
					farClosed(nil, errNotAccepted)
				}
				want(t, far, c.wantFar)
				empty(t, 0, x, y)
			})
		})
	}
}

// TestAsyncDialFails has dials that cannot succeed, and one that is closed before it could.
func TestAsyncDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		ended, closed := ends(10)
		h := &callbacks{closed: closed, connected: func(*AsyncConn) { t.Error("connected") }}
		dialAsync(t, x, netip.AddrPortFrom(addrV, 81), h)
		want(t, ended, syscall.ECONNREFUSED)
		dialAsync(t, x, netip.MustParseAddrPort("10.0.0.9:80"), h)
		want(t, ended, syscall.EHOSTUNREACH)
		if err := dialAsync(t, x, netip.MustParseAddrPort("10.0.0.7:80"), h).Close(); err != nil {
			t.Error(err)
		}
		want(t, ended, net.ErrClosed)
		silent := dialAsync(t, x, netip.MustParseAddrPort("10.0.0.8:80"), h)
		silent.SetTimer(time.Millisecond) // AsyncBase aborts
		want(t, ended, net.ErrClosed)
		// a port of ours that is in use for the same peer
		listenAsync(t, y, 82, AsyncBase{})
		from := netip.MustParseAddrPort("10.0.0.1:4000")
		if _, err := x.DialAsync(from, netip.AddrPortFrom(addrV, 82), AsyncBase{}); err != nil {
			t.Error(err)
		}
		if _, err := x.DialAsync(from, netip.AddrPortFrom(addrV, 82), h); err != nil {
			t.Error(err)
		}
		want(t, ended, syscall.EADDRINUSE)
		for _, to := range []string{"10.9.9.9:80", "10.0.0.255:80", "10.0.0.2:0", "224.0.0.1:80"} {
			if _, err := x.DialAsync(netip.AddrPort{}, netip.MustParseAddrPort(to), h); !errors.Is(
				err, syscall.ENETUNREACH) {
				t.Errorf("%s: %v", to, err)
			}
		}
		if _, err := x.DialAsync(netip.MustParseAddrPort("10.0.0.7:0"),
			netip.AddrPortFrom(addrV, 82), h); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Error(err)
		}
		if _, err := x.DialAsync(netip.AddrPort{}, from, nil); err == nil {
			t.Error("no handler is no error")
		}
	})
}

// TestAsyncRefuse has a listener that does not want a connection, and one that is closed.
func TestAsyncRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		l, err := y.ListenAsync("tcp", ":80", func(*AsyncConn) AsyncHandler { return nil })
		if err != nil {
			t.Fatal(err)
		}
		ended, closed := ends(2)
		dialAsync(t, x, netip.AddrPortFrom(addrV, 80), &callbacks{closed: closed})
		want(t, ended, syscall.ECONNRESET)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second Close: %v", err)
		}
		dialAsync(t, x, netip.AddrPortFrom(addrV, 80), &callbacks{closed: closed})
		want(t, ended, syscall.ECONNREFUSED)
		if _, err := y.ListenAsync("tcp", ":80", nil); err == nil {
			t.Error("no function is no error")
		}
		empty(t, 0, x, y)
	})
}

// TestAsyncWritersOutside has goroutines send by the connection of a handler while that sends, too.
func TestAsyncWritersOutside(t *testing.T) {
	a, b := link.Pair(link.Offload())
	x, y := twoHosts(t, a, b)
	const writers, times = 4, 2000
	var counts [writers + 1]int // of each byte; the last one is the handler's
	ended, closed := ends(2)
	all := make(chan struct{})
	at := listenAsync(t, y, 80, &callbacks{closed: closed,
		received: func(c *AsyncConn, data []byte) int {
			for _, b := range data {
				counts[b]++
			}
			if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum == writers*times {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			_, _ = c.Send([]byte{1}) // an answer, for which the client's handler sends again
			return len(data)
		}})
	near := dialAsync(t, x, at, &callbacks{closed: closed,
		received: func(c *AsyncConn, data []byte) int {
			_, _ = c.Send([]byte{writers})
			return len(data)
		}})
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			for left := times; left > 0; {
				n, err := near.Send([]byte{byte(i)})
				if err != nil {
					t.Error(err)
					return
				}
				if left -= n; n == 0 {
					time.Sleep(time.Millisecond) // the buffer is full, or the SYN not sent
				}
			}
		})
	}
	wait.Wait()
	select {
	case <-all:
	case <-time.After(5 * time.Minute):
		t.Error("not all bytes have arrived")
	}
	if err := near.Abort(); err != nil {
		t.Error(err)
	}
	for range 2 { // an end that was in the middle of a Send gets the one or the other
		if err := <-ended; !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
	}
	for i, n := range counts[:writers] {
		if n != times {
			t.Errorf("writer %d: %d bytes, want %d", i, n, times)
		}
	}
}

// TestAsyncManyInOneCall has a handler close more connections at once than claims may wait.
func TestAsyncManyInOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		at := listenAsync(t, y, 80, AsyncBase{})
		const n = 3 * claimsLen
		ended, closed := ends(n)
		var all []*AsyncConn
		last := &callbacks{closed: closed, connected: func(c *AsyncConn) {
			for i, other := range all {
				if _, err := other.Send([]byte("last words")); err != nil {
					t.Error(err)
				}
				if i%2 == 0 {
					_ = other.Close()
				} else {
					_ = other.Abort()
				}
			}
			_ = c.Close()
		}}
		for range n - 1 {
			all = append(all, dialAsync(t, x, at, &callbacks{closed: closed}))
		}
		synctest.Wait()
		dialAsync(t, x, at, last)
		for range n {
			<-ended
		}
		empty(t, 0, x, y)
	})
}

// TestAsyncHandlerBlocks has a handler block for seconds. Nothing else of its stack happens
// meanwhile, and everything does afterwards.
func TestAsyncHandlerBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		at := listenAsync(t, y, 80, &callbacks{received: func(_ *AsyncConn, data []byte) int {
			time.Sleep(3 * time.Second)
			return len(data)
		}})
		if _, err := y.Ping(t.Context(), netip.MustParseAddr("10.0.0.1"), 8); err != nil {
			t.Fatal(err)
		}
		l, err := y.Listen("tcp", ":81")
		if err != nil {
			t.Fatal(err)
		}
		other, err := x.Dial("tcp", "10.0.0.2:81")
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := dialAsync(t, x, at, AsyncBase{})
		synctest.Wait()
		begun := time.Now()
		if _, err := c.Send([]byte("work")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := other.Write([]byte("question")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(far, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("another connection was served after %v, want 3 s", took)
		}
		closeConns(t, other, far)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAsyncTimers compares the instants at which timers expire with those for which they were set.
func TestAsyncTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		at := listenAsync(t, y, 80, AsyncBase{})
		begun := time.Now()
		var times []time.Duration
		ended, closed := ends(1)
		c := dialAsync(t, x, at, &callbacks{closed: closed, timer: func(c *AsyncConn) {
			times = append(times, time.Since(begun))
			if len(times) < 3 {
				c.SetTimer(time.Second)
			}
		}})
		synctest.Wait()
		c.SetTimer(time.Minute)
		c.SetTimer(5 * time.Second)
		time.Sleep(time.Minute)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		want(t, ended, nil)
		if got := fmt.Sprint(times); got != "[5s 6s 7s]" {
			t.Errorf("the timer has expired at %s", got)
		}
	})
}

// TestAsyncCloseInReceived closes within the call that takes the last bytes: all was read, so the
// peer sees an end and no reset.
func TestAsyncCloseInReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		ended, closed := ends(1)
		at := listenAsync(t, y, 80, &callbacks{closed: closed,
			received: func(c *AsyncConn, data []byte) int {
				if _, err := c.Send(slices.Concat([]byte("re: "), data)); err != nil {
					t.Error(err)
				}
				closing := c.Close()
				if err := c.SetNoDelay(true); closing != nil || !errors.Is(err, net.ErrClosed) {
					t.Errorf("%v, and an option of a closed connection: %v", closing, err)
				}
				return len(data)
			}})
		c, err := x.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(c); err != nil || string(got) != "re: hello" {
			t.Errorf("%q, %v", got, err)
		}
		closeConns(t, c)
		want(t, ended, nil)
		empty(t, 0, x, y)
	})
}
