package gonet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"interleave/gonet/link"
	"interleave/gonet/tcp"
)

// TestAsyncStackEnds ends stacks in each way while handlers have connections, one of them paused
// and one being dialed.
func TestAsyncStackEnds(t *testing.T) {
	for name, end := range map[string]func(s *Stack) error{"abort": (*Stack).Abort,
		"close": (*Stack).Close,
		"shutdown": func(s *Stack) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return s.Shutdown(ctx)
		}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := twoQuiet(t)
				var got []byte
				at := listenAsync(t, y, 80, &callbacks{
					received: func(_ *AsyncConn, data []byte) int {
						got = append(got, data...)
						return len(data)
					}})
				ended, closed := ends(3)
				h := &callbacks{closed: closed,
					received: func(*AsyncConn, []byte) int { return 0 }}
				for range 2 {
					c := dialAsync(t, x, at, h)
					synctest.Wait()
					if n, err := c.Send(make([]byte, 60_000)); n != 60_000 || err != nil {
						t.Error(n, err)
					}
				}
				dialAsync(t, x, netip.MustParseAddrPort("10.0.0.9:80"), h)
				if err := end(x); err != nil {
					t.Error(err)
				}
				for range 3 {
					if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
						t.Error(err)
					}
				}
				if _, err := x.DialAsync(netip.AddrPort{}, at, h); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a dial after the end: %v", err)
				}
				synctest.Wait()
				if err := y.claim(func() {
					if name != "abort" && len(got) != 120_000 {
						t.Errorf("%d bytes have arrived", len(got))
					}
				}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAsyncPausedAtTheEnd has a peer send and close while the handler is paused, and the
// connection's TIME-WAIT end: the handler still gets all, in order, or is told that it does not.
func TestAsyncPausedAtTheEnd(t *testing.T) {
	for _, evicted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := link.Pair()
			few := func(c *Config) { c.TimeWaits = 1; c.TCP.KeepAlive = -1 }
			x, y := host6(t, a, "1", quiet, few), host6(t, b, "2", quiet)
			l, err := y.Listen("tcp", ":80")
			if err != nil {
				t.Fatal(err)
			}
			ended, closed := ends(2)
			open, got := false, 0
			c := dialAsync(t, x, netip.AddrPortFrom(addrV, 80), &callbacks{
				connected: func(c *AsyncConn) { _ = c.CloseWrite() },
				received: func(_ *AsyncConn, data []byte) int {
					if !open {
						return 0
					}
					got += len(data)
					return len(data)
				},
				finished: func(*AsyncConn) {
					if got != 5000 {
						t.Errorf("finished after %d bytes", got)
					}
				},
				closed: closed})
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := far.Write(make([]byte, 5000)); err != nil {
				t.Error(err)
			}
			closeConns(t, far)
			synctest.Wait()
			if s := c.Info().State; s != tcp.TimeWait {
				t.Fatalf("the state is %v", s)
			}
			if evicted {
				dialAsync(t, x, netip.AddrPortFrom(addrV, 80), &callbacks{
					connected: func(c *AsyncConn) { _ = c.Close() }})
				next, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				closeConns(t, next)
				want(t, ended, net.ErrClosed)
			} else {
				time.Sleep(10 * time.Minute)
				if err := x.claim(func() { open = true }); err != nil {
					t.Error(err)
				}
				c.Resume()
				want(t, ended, nil)
			}
			if _, err := c.Send([]byte("too late")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a Send after the end: %v", err)
			}
			empty(t, 0, x, y)
		})
	}
}

// TestAsyncResumeMeanwhile has Resume called while Received runs, by another goroutine and by the
// handler: the bytes are offered again, and other connections get their turn in between.
func TestAsyncResumeMeanwhile(t *testing.T) {
	for name, resume := range map[string]func(c *AsyncConn){
		"goroutine": func(c *AsyncConn) {
			resumed := make(chan struct{})
			go func() {
				c.Resume()
				close(resumed)
			}()
			<-resumed
		},
		"handler": (*AsyncConn).Resume,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := twoQuiet(t)
				served, offered, begun := false, 0, make(chan struct{})
				ended, closed := ends(1)
				at := listenAsync(t, y, 80, &callbacks{closed: closed,
					received: func(c *AsyncConn, data []byte) int {
						if offered++; offered == 1 {
							close(begun)
						} else if served {
							return len(data)
						}
						resume(c)
						return 0
					}})
				other := listenAsync(t, y, 81, &callbacks{
					received: func(_ *AsyncConn, data []byte) int {
						served = true
						return len(data)
					}})
				c, err := x.Dial("tcp", at.String())
				if err != nil {
					t.Fatal(err)
				}
				d, err := x.Dial("tcp", other.String())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Write([]byte("first")); err != nil {
					t.Error(err)
				}
				<-begun
				if _, err := d.Write([]byte("second")); err != nil {
					t.Error(err)
				}
				closeConns(t, c, d)
				want(t, ended, nil)
				if offered < 2 {
					t.Errorf("the bytes were offered %d times", offered)
				}
			})
		})
	}
}

// TestAsyncUsedAfterItsEnd calls the methods of connections that have ended, while the memory of
// their machines serves others: those are not disturbed.
func TestAsyncUsedAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := twoQuiet(t)
		at := listenAsync(t, y, 80, &callbacks{
			received: func(c *AsyncConn, data []byte) int { n, _ := c.Send(data); return n }})
		ended, closed := ends(2)
		for range 20 {
			old := dialAsync(t, x, at, &callbacks{closed: closed,
				connected: func(c *AsyncConn) { _ = c.Abort() }})
			want(t, ended, net.ErrClosed)
			synctest.Wait()
			got := 0
			dialAsync(t, x, at, &callbacks{closed: closed,
				connected: func(c *AsyncConn) {
					if n, err := c.Send(make([]byte, 5000)); n != 5000 || err != nil {
						t.Error(n, err)
					}
				},
				received: func(c *AsyncConn, data []byte) int {
					useEnded(t, old)
					if got += len(data); got == 5000 {
						_ = c.Close() // Closed has the error
					}
					return len(data)
				}})
			synctest.Wait()
			useEnded(t, old)
			want(t, ended, nil)
			if got != 5000 {
				t.Errorf("%d bytes have come back", got)
			}
		}
		empty(t, 0, x, y)
	})
}

// useEnded calls all methods of a connection that has ended.
func useEnded(t *testing.T, c *AsyncConn) {
	t.Helper()
	_, sending := c.Send([]byte("late"))
	for _, err := range []error{sending, c.CloseWrite(), c.CloseRead(), c.Close(), c.Abort(),
		c.SetNoDelay(true), c.SetReadBuffer(1), c.SetTTL(1), c.SetLinger(0)} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("a call after the end: %v", err)
		}
	}
	c.Resume()
	c.SetTimer(1)
	if i := c.Info(); i.State != tcp.Closed || i.Segments != 0 || i.Remote != c.RemoteAddr() {
		t.Errorf("after the end: %+v", i)
	}
}
