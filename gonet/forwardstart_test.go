package gonet

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// forwardTCPStart sets the function that begins requests.
func forwardTCPStart(t *testing.T, s *Stack, start func(*TCPRequest) func()) {
	t.Helper()
	if err := s.ForwardTCPStart(start); err != nil {
		t.Fatal(err)
	}
}

// TestForwardTCPStart answers clients before their handlers run.
func TestForwardTCPStart(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		dialed := make(chan struct{})
		accepted := make(chan *Conn, 1)
		forwardTCPStart(t, y, func(r *TCPRequest) func() {
			if err := r.Answer(); err != nil {
				t.Error(err)
			}
			if err := r.Answer(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a second answer: %v", err)
			}
			return func() {
				<-dialed
				c, err := r.Accept()
				if err != nil {
					t.Error(err)
				}
				if c, err := r.Accept(); c != nil || !errors.Is(err, net.ErrClosed) {
					t.Errorf("accepted twice: %v, %v", c, err)
				}
				accepted <- c
			}
		})
		for _, to := range []string{"198.51.100.7:80", "[2001:db8:9::7]:443"} {
			near, err := x.Dial("tcp", to)
			if err != nil {
				t.Fatal(err)
			}
			dialed <- struct{}{}
			far := <-accepted
			if far == nil {
				return
			}
			bothWays(t, 1, near, far, 300_000)
		}
		empty(t, 1, x, y)
	})
}

// TestForwardTCPStartEnds has requests that are answered and not accepted, dropped by start, and
// left to their handlers.
func TestForwardTCPStartEnds(t *testing.T) {
	forwarding(t, func(t *testing.T, x, y *Stack) {
		var requests atomic.Int32
		for name, c := range map[string]struct {
			start    func(*TCPRequest) func()
			want     error
			requests int32
		}{
			"no handler": {func(r *TCPRequest) func() {
				if requests.Load() < 3 {
					return nil
				}
				return r.Refuse
			}, syscall.ECONNREFUSED, 3},
			"handler": {func(r *TCPRequest) func() { return r.Refuse }, syscall.ECONNREFUSED, 1},
			"answered, refused": {func(r *TCPRequest) func() {
				if err := r.Answer(); err != nil {
					t.Error(err)
				}
				return func() {
					time.Sleep(time.Second)
					r.Refuse()
				}
			}, syscall.ECONNRESET, 1},
			"answered, no handler": {func(r *TCPRequest) func() {
				if err := r.Answer(); err != nil {
					t.Error(err)
				}
				return nil
			}, syscall.ECONNRESET, 1},
		} {
			requests.Store(0)
			forwardTCPStart(t, y, func(r *TCPRequest) func() {
				requests.Add(1)
				return c.start(r)
			})
			near, err := x.Dial("tcp", "198.51.100.7:80")
			if err == nil {
				_, err = near.Read(make([]byte, 1))
				_ = near.Close() // it has ended
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if n := requests.Load(); n != c.requests {
				t.Errorf("%s: %d requests, want %d", name, n, c.requests)
			}
			synctest.Wait()
			if n := y.forward.pending.Load(); n != 0 {
				t.Errorf("%s: %d requests are pending", name, n)
			}
		}
		empty(t, 1, x, y)
	})
}
